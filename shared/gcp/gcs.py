"""The bucket with the models, over Cloud Storage's JSON API: list and read, nothing else.

Every call is bounded in time and in bytes. Nothing is repeated here. Objects are read as they are stored: with `Accept-Encoding: gzip`
Cloud Storage does not unpack what was uploaded packed (decompressive transcoding), and neither is it unpacked here.
"""

import json
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

import requests
import urllib3
from pydantic import ValidationError

from shared.errors import Refused, Retry
from shared.gcp.credentials import FAILURES, no_token
from shared.gcp.http_session import HttpSession
from shared.records.objects import BucketObject, ObjectListing

GOOGLE = "https://storage.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"
PAGE_OBJECTS = 1_000
"""Cloud Storage's own limit of a page."""
PAGE_LIMIT_BYTES = 16_000_000
"""A page of names of a kilobyte each is a few megabytes; an answer above this is not one."""
CALL_SECONDS = 10.0
"""How long a connection may take, and how long it may be silent."""
WORK_SECONDS = 15.0
"""How long a listing with all its pages, or a read, may take."""
RETRY_SECONDS = 10.0
_CHUNK_BYTES = 2**20
_TEXT_SHOWN = 300
_MENDABLE = frozenset({408, 425, 429})
_OK, _PARTIAL, _NOT_FOUND, _RANGE_NOT_SATISFIABLE = 200, 206, 404, 416
_SERVER_ERRORS = 500
_LISTED = "items(name,size,generation,crc32c,updated),nextPageToken"


class CloudStorage:
    """The `ModelFiles` port on Cloud Storage. Thread-safe; the session is made at first use, and anew in a forked process.

    `endpoint` (`http://127.0.0.1:4443`) is for a simulated Cloud Storage, without credentials.
    """

    def __init__(self, *, endpoint: str | None = None) -> None:
        self._base = endpoint or GOOGLE
        self._session = HttpSession(SCOPE, anonymous=endpoint is not None)

    def list_objects(self, bucket: str, prefix: str, *, limit: int) -> ObjectListing:
        """The objects below `prefix`, at most `limit`, page by page.

        Raises:
            Retry: Cloud Storage did not answer, or not in time.
            Refused: the bucket is not there, or may not be listed.
        """
        found: list[BucketObject] = []
        for page in self._pages(bucket, {"prefix": prefix, "fields": _LISTED}):
            found += [_object(item) for item in _entries(page, "items")]
            if len(found) > limit or (len(found) == limit and page.get("nextPageToken")):
                return ObjectListing(objects=tuple(found[:limit]), complete=False)
        return ObjectListing(objects=tuple(found))

    def list_folders(self, bucket: str, prefix: str, *, limit: int) -> list[str]:
        """The names of the folders just below `prefix`, at most `limit`.

        Raises:
            Retry, Refused: as `list_objects`.
        """
        found: list[str] = []
        for page in self._pages(bucket, {"prefix": prefix, "delimiter": "/", "fields": "prefixes,nextPageToken"}):
            found += [str(each)[len(prefix) :].removesuffix("/") for each in _entries(page, "prefixes")]
            if len(found) >= limit:
                break
        return found[:limit]

    def read_object(self, bucket: str, name: str, *, generation: int, limit_bytes: int) -> bytes | None:
        """The first `limit_bytes` of that generation; None if it is not there any more.

        Raises:
            Retry: Cloud Storage did not answer, or not in time.
            Refused: the object may not be read.
        """
        path = f"/storage/v1/b/{quote(bucket, safe='')}/o/{quote(name, safe='')}"
        headers = {"Accept-Encoding": "gzip", "Range": f"bytes=0-{limit_bytes - 1}"}
        what = f"reading gs://{bucket}/{name[:_TEXT_SHOWN]}"
        parameters = {"alt": "media", "generation": str(generation)}
        status, body = self._get(path, parameters, headers, what=what, limit_bytes=limit_bytes, ends_at=time.monotonic() + WORK_SECONDS)
        if status == _NOT_FOUND:
            return None
        if status == _RANGE_NOT_SATISFIABLE:
            return b""  # nothing is at byte 0 of an empty object
        _raise_for(status, body, what)
        return body

    def close(self) -> None:
        """Close the session; the next call opens a new one."""
        self._session.close()

    def _pages(self, bucket: str, parameters: Mapping[str, str]) -> Any:
        ends_at = time.monotonic() + WORK_SECONDS
        path = f"/storage/v1/b/{quote(bucket, safe='')}/o"
        what = f"listing gs://{bucket}/{parameters['prefix'][:_TEXT_SHOWN]}"
        token = ""
        while True:
            asked = {**parameters, "maxResults": str(PAGE_OBJECTS)} | ({"pageToken": token} if token else {})
            headers = {"Accept-Encoding": "identity"}
            status, body = self._get(path, asked, headers, what=what, limit_bytes=PAGE_LIMIT_BYTES, ends_at=ends_at)
            _raise_for(status, body, what)
            page = _json(body)
            if page is None:
                raise Retry(f"{what}: the answer is no JSON object of at most {PAGE_LIMIT_BYTES} bytes", after_seconds=RETRY_SECONDS)
            yield page
            token = str(page.get("nextPageToken") or "")
            if not token:
                return

    def _get(
        self, path: str, parameters: Mapping[str, str], headers: Mapping[str, str], *, what: str, limit_bytes: int, ends_at: float
    ) -> tuple[int, bytes]:
        """The status, and of the body what fits, as it came over the wire."""
        try:
            session = self._session.connected()
            with session.get(
                f"{self._base}{path}", params=dict(parameters), headers=dict(headers), timeout=CALL_SECONDS, stream=True
            ) as response:
                return response.status_code, _body(response, limit_bytes, what=what, ends_at=ends_at)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise Retry(f"{what}: {str(error)[:_TEXT_SHOWN]}", after_seconds=RETRY_SECONDS) from error
        except FAILURES as error:
            raise no_token(error, what=what, after_seconds=RETRY_SECONDS) from error


def _body(response: requests.Response, limit_bytes: int, *, what: str, ends_at: float) -> bytes:
    read = bytearray()
    while len(read) < limit_bytes:
        if time.monotonic() > ends_at:
            raise Retry(f"{what}: not done within {WORK_SECONDS:.0f} s", after_seconds=RETRY_SECONDS)
        chunk = response.raw.read(min(_CHUNK_BYTES, limit_bytes - len(read)), decode_content=False)
        if not chunk:
            break
        read += chunk
    return bytes(read)


def _raise_for(status: int, body: bytes, what: str) -> None:
    if status in {_OK, _PARTIAL}:
        return
    text = f"{what}: HTTP {status}: {_message(body)}"
    if status in _MENDABLE or status >= _SERVER_ERRORS:
        raise Retry(text, after_seconds=RETRY_SECONDS)
    raise Refused(text)


def _message(body: bytes) -> str:
    """Google's own words where the body has them."""
    error = (_json(body) or {}).get("error")
    text = error.get("message") if isinstance(error, dict) else None
    return str(text if text is not None else body[:_TEXT_SHOWN].decode(errors="replace"))[:_TEXT_SHOWN]


def _json(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _entries(page: Mapping[str, Any], key: str) -> list[Any]:
    """What a page lists; an empty one has no such key.

    Raises:
        Retry: it is no list.
    """
    found = page.get(key, [])
    if not isinstance(found, list):
        raise Retry(f"a listing is not as documented: {key} is no list", after_seconds=RETRY_SECONDS)
    return found


def _object(item: Mapping[str, Any]) -> BucketObject:
    """An object's resource; 64-bit numbers come as text.

    Raises:
        Retry: it is none: what cannot be read is not guessed.
    """
    try:
        return BucketObject(
            name=item["name"],
            size_bytes=int(item["size"]),
            generation=int(item["generation"]),
            crc32c=item.get("crc32c"),
            updated_at=datetime.fromisoformat(item["updated"]),
        )
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        raise Retry(f"an object of a listing is not as documented: {str(error)[:_TEXT_SHOWN]}", after_seconds=RETRY_SECONDS) from error
