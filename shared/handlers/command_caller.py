"""Who calls: the identity that Cloud Run verified before it let the request in.

Cloud Run checks the caller's identity token against the service's IAM policy and passes the token on, often with its signature removed,
so the signature is no business of ours; what stands in the token is. That only holds of the token that was checked. With both headers
in one request Cloud Run checks `X-Serverless-Authorization` alone and passes the other on as it came: such a request has no identity here.
The service must not allow unauthenticated calls: then nothing is checked, and whatever a token says would be believed.
"""

import binascii
import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any

SERVERLESS = "x-serverless-authorization"
STANDARD = "authorization"
TOKEN_LIMIT_BYTES = 16_384
ADDRESS_LIMIT = 320
ISSUERS = ("https://accounts.google.com", "accounts.google.com")
"""Of Google's identity tokens; no other is let in by Cloud Run."""


def verified_identity(headers: Mapping[str, str]) -> str | None:
    """The e-mail address in the token that the platform checked, in lower case; None where there is no such token."""
    tokens = [value for name, value in headers.items() if name.lower() in (SERVERLESS, STANDARD)]
    if len(tokens) != 1:
        return None
    scheme, _, token = tokens[0].strip().partition(" ")
    if scheme.lower() != "bearer" or len(token) > TOKEN_LIMIT_BYTES:
        return None
    claims = _claims(token.strip())
    address = claims.get("email")
    if claims.get("iss") not in ISSUERS or claims.get("email_verified") not in (True, "true") or not isinstance(address, str):
        return None
    plain = address.isascii() and address.isprintable() and " " not in address and address.count("@") == 1
    return address.lower() if plain and 0 < len(address) <= ADDRESS_LIMIT else None


def _claims(token: str) -> dict[str, Any]:
    """The payload of a JWT; empty for what is none."""
    parts = token.split(".")
    if len(parts) != 3:  # noqa: PLR2004 (header, payload, signature)
        return {}
    try:
        payload = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}
