"""An entry of an audit log as it was read: every field optional, nothing judged.

Written for what Cloud Run really logs. Callers of its v1 API (gcloud, the console) are logged with `namespaces/P/services/S`, of its v2
API (clients, Terraform) with `projects/P/locations/L/services/S`; deployments of functions under
`google.cloud.serverless.internal.InternalServices`. Calls that take long are logged twice, at the start and at the end of their
operation. System events, which tell of readiness, have no caller, sometimes no method or one without its package, and may be about a
revision. The answer that stands in the entry of a call shows the readiness of before the call.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Literal
from urllib.parse import unquote

from shared.errors import Park
from shared.events.lenient import clean, load_json, mapping, moment, shown, whole
from shared.records.parked import ParkCode

SHORT, LONG = 256, 1_024
"""The bounds, in characters, of the short and the long texts of the fact's record."""
DELEGATION_LIMIT = 8

Client = Literal["", "gcloud", "cloud-console", "terraform"]
ReadyKind = Literal["service", "revision"]

_READY = re.compile(r"Ready condition status changed to (True|False|Unknown) for (Service|Revision) ([a-z0-9-]{1,63})(?![a-z0-9-])")
_READY_KINDS: dict[str, ReadyKind] = {"Service": "service", "Revision": "revision"}
_TRUTH = {"True": True, "False": False, "CONDITION_SUCCEEDED": True, "CONDITION_FAILED": False}
_CODE_LIMIT = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReading:
    """What an entry says. None, or empty, where it says nothing that can be used."""

    has_payload: bool = False
    """Whether there is an audit log's payload in it."""
    insert_id: str | None = None
    """As sent; one of more than 256 characters, or not of printable ASCII, is replaced by `sha256:` and its digest."""
    log: str | None = None
    """`activity`, `system_event`, `data_access` or `policy`."""
    service: str | None = None
    """The API that was called: Cloud Run's is `run.googleapis.com`."""
    method: str | None = None
    principal: str | None = None
    principal_subject: str | None = None
    delegation: tuple[str, ...] = ()
    user_agent: str = ""
    client: Client = ""
    resource: str | None = None
    status_code: int | None = None
    message: str = ""
    dry_run: bool = False
    operation_id: str | None = None
    operation_first: bool = False
    operation_last: bool = False
    ready: bool | None = None
    ready_kind: ReadyKind | None = None
    generation: int | None = None
    occurred_at: datetime | None = None
    project: str | None = None
    region: str | None = None
    name: str | None = None
    """The Cloud Run service that it is about."""
    revision_name: str | None = None


def read_audit(payload: bytes) -> AuditReading:
    """Read an entry; what is missing or of an odd type becomes None, unknown fields are passed over.

    Raises:
        Park: unparsable: the payload is no JSON object.
    """
    entry = load_json(payload, "audit log entry", non_finite_as_null=True)
    if not isinstance(entry, dict):
        raise Park(ParkCode.UNPARSABLE, f"audit log entry: want a JSON object, got {shown(entry)}")
    audit = mapping(entry.get("protoPayload"))
    log = _log(entry.get("logName"))
    status, operation = mapping(audit.get("status")), mapping(entry.get("operation"))
    caller, request = mapping(audit.get("authenticationInfo")), mapping(audit.get("request"))
    response = mapping(audit.get("response"))
    user_agent = clean(mapping(audit.get("requestMetadata")).get("callerSuppliedUserAgent"), SHORT)
    ready, ready_kind = _readiness(status, response) if log == "system_event" else (None, None)
    place = _place(entry, audit, response)
    return AuditReading(
        has_payload=isinstance(entry.get("protoPayload"), dict),
        insert_id=_insert_id(entry.get("insertId")),
        log=log,
        service=_text(audit.get("serviceName")),
        method=_text(audit.get("methodName")),
        principal=_text(caller.get("principalEmail")),
        principal_subject=_text(caller.get("principalSubject")),
        delegation=_delegation(caller.get("serviceAccountDelegationInfo")),
        user_agent=user_agent,
        client=client_of(user_agent),
        resource=_text(audit.get("resourceName"), LONG),
        status_code=whole(status.get("code"), _CODE_LIMIT),
        message=clean(status.get("message"), LONG),
        dry_run=request.get("validateOnly") is True or request.get("dryRun") == "all",
        operation_id=_text(operation.get("id")),
        operation_first=operation.get("first") is True,
        operation_last=operation.get("last") is True,
        ready=ready,
        ready_kind=ready_kind,
        generation=whole(mapping(response.get("metadata")).get("generation", response.get("generation"))),
        occurred_at=moment(entry.get("timestamp")) or moment(entry.get("receiveTimestamp")),
        **place,
    )


def client_of(user_agent: str) -> Client:
    """The tool that a caller's user agent speaks of, in the words that Cloud Run's field `client` has for it; "" for any other.

    gcloud sends `google-cloud-sdk gcloud/528.0.0 command/...`, Terraform's provider `Terraform/1.9 ... terraform-provider-google/6.1`;
    the console is a browser.
    """
    text = user_agent.lower()
    if "terraform" in text:
        return "terraform"
    if re.search(r"(?:^|[\s,])gcloud/", text):
        return "gcloud"
    return "cloud-console" if text.startswith("mozilla/") else ""


def _place(entry: Mapping[str, Any], audit: Mapping[str, Any], response: Mapping[str, Any]) -> dict[str, str | None]:
    """Project, region, service and revision: from the resource's name, what it does not say from the labels of the entry.

    v1 names have no region, and a v2 name may hold the project's number, which is no id.
    """
    parts = (_text(audit.get("resourceName"), LONG) or "").split("/")
    named = dict(zip(parts[::2], parts[1::2], strict=False))
    resource = mapping(entry.get("resource"))
    labels = mapping(resource.get("labels"))
    metadata = mapping(response.get("metadata"))
    of_revision = mapping(metadata.get("labels")).get("serving.knative.dev/service")
    about_services = "services" in named or "revisions" in named or (not named and resource.get("type") == "cloud_run_revision")
    project = named.get("projects") or named.get("namespaces")
    locations = mapping(audit.get("resourceLocation")).get("currentLocations")
    only_location = locations[0] if isinstance(locations, list) and len(locations) == 1 else None
    return {
        "project": _text(labels.get("project_id")) or (project if project and not project.isdecimal() else None),
        "region": named.get("locations") or _text(labels.get("location")) or _text(only_location),
        "name": (named.get("services") or _text(labels.get("service_name")) or _text(of_revision)) if about_services else None,
        "revision_name": (_text(named.get("revisions")) or _text(labels.get("revision_name"))) if about_services else None,
    }


def _readiness(status: Mapping[str, Any], response: Mapping[str, Any]) -> tuple[bool | None, ReadyKind | None]:
    """What a system event says of readiness: the sentence in its status, else the condition in the resource beside it."""
    text = status.get("message")
    said = _READY.match(text[:LONG]) if isinstance(text, str) else None
    if said is not None:
        return _TRUTH.get(said[1]), _READY_KINDS[said[2]]
    kind = _READY_KINDS.get(str(response.get("kind") or str(response.get("@type"))[:SHORT].rpartition(".")[2]))
    conditions = mapping(response.get("status")).get("conditions") or [response.get("terminalCondition")]
    for condition in islice(conditions if isinstance(conditions, list) else [], 32):
        found = mapping(condition)
        if found.get("type") == "Ready":
            return _TRUTH.get(str(found.get("status") or found.get("state"))), kind
    return None, None


def _log(value: object) -> str | None:
    """`activity` of `projects/P/logs/cloudaudit.googleapis.com%2Factivity`; None for a log that is no audit log."""
    _, audit, name = unquote(clean(value, SHORT)).partition("/logs/cloudaudit.googleapis.com/")
    return name or None if audit else None


def _delegation(value: object) -> tuple[str, ...]:
    found = []
    for link in islice(value if isinstance(value, list) else [], DELEGATION_LIMIT):
        first_party = mapping(mapping(link).get("firstPartyPrincipal"))
        who = _text(mapping(link).get("principalSubject")) or _text(first_party.get("principalEmail"))
        if who is not None:
            found.append(who)
    return tuple(found)


def _insert_id(value: object) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return None
    if len(value) <= SHORT and value.isascii() and value.isprintable():
        return value
    return f"sha256:{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _text(value: object, limit: int = SHORT) -> str | None:
    return clean(value, limit) or None
