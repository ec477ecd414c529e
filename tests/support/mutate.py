"""Spoils valid requests, reproducibly: what a hostile or broken sender might deliver instead.

`Mutator(seed).request(headers, body)` gives one spoilt copy after another. The same seed gives the same copies. Header values stay
such that HTTP can carry them (one line, latin-1), so the same mutator drives parsers directly and functions over HTTP.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

_MARK = "@@hostile-{}@@"

HOSTILE_VALUES: tuple[object, ...] = (
    None,
    True,
    False,
    0,
    -1,
    0.5,
    2**63,
    10**300,
    -(10**300),
    1e308,
    253402300800,
    "",
    " ",
    "null",
    "NaN",
    "Infinity",
    "1e999",
    "OPEN",
    "closed",
    "test",
    "1.9",
    "2.0",
    "__missing__",
    "../../etc/passwd",
    "__x__",
    "a:b:c",
    "\x00\x01\x1b[31m",
    "line\r\nline",
    "\ud800",
    "\u202e\u2066",
    "\uff52\uff41\uff4e\uff4b",
    "x" * 300,
    "x" * 5_000,
    "é" * 2_000,
    "=" * 64,
    [],
    {},
    [[]],
    [{"message": {}}],
    {"message": {"data": "e30="}},
    {"labels": []},
    {"": ""},
    {str(n): "v" for n in range(200)},
)
"""Values of every JSON type, put where another was."""

HOSTILE_TEXTS: tuple[str, ...] = (
    "NaN",
    "-Infinity",
    "1e999",
    "9" * 5_000,
    "-" + "1" * 450,
    "[" * 100_000,
    '{"a":' * 50_000,
    "[" * 300 + "]" * 300,
    "[" * 2_000 + "]" * 2_000,
    '{"a":1,"a":2}',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\u0000"',
    "01",
    "+1",
    "'x'",
    "undefined",
    "",
)
"""What no Python value can be dumped to; some of it is no JSON."""

HOSTILE_HEADERS: tuple[str, ...] = (
    "",
    " ",
    "0",
    "2.0",
    "0.3",
    "x" * 8_000,
    "\xe9\xff",
    "%00%ff",
    "application/cloudevents+json",
    "application/cloudevents-batch+json",
    "application/cloudevents+xml; charset=utf-16",
    "text/plain",
    "application/x-www-form-urlencoded",
    "google.cloud.pubsub.topic.v1.messagePublished",
    "google.cloud.storage.object.v1.finalized",
    "2026-99-99T99:99:99Z",
)
_HEADER_NAMES = (
    "ce-id",
    "ce-type",
    "ce-source",
    "ce-specversion",
    "ce-time",
    "ce-subject",
    "ce-data",
    "ce-extensions",
    "content-type",
    "CE-ID",
)

Path = tuple[str | int, ...]


class Mutator:
    """A seeded source of spoilt requests."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def request(self, headers: Mapping[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
        """A copy of the request with one to three faults in it; now and then it is left whole."""
        spoilt, raw = dict(headers), body
        for _ in range(self.random.choice((0, 1, 1, 1, 1, 2, 2, 3))):
            if self.random.random() < 0.15:
                spoilt = self.headers(spoilt)
            else:
                raw = self.body(raw)
        return spoilt, raw

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """One header dropped, replaced, added or spelt in capitals."""
        spoilt = dict(headers)
        how = self.random.randrange(4) if spoilt else 0
        name = self.random.choice(sorted(spoilt)) if how else self.random.choice(_HEADER_NAMES)
        if how == 1:
            del spoilt[name]
        elif how == 2:
            spoilt[name.upper()] = spoilt.pop(name)
        else:
            spoilt[name] = self.random.choice(HOSTILE_HEADERS)
        return spoilt

    def body(self, raw: bytes) -> bytes:
        """One fault: in the bytes, in the JSON, or in the JSON inside a Pub/Sub message's data."""
        how = self.random.random()
        if how < 0.25:
            return self.raw(raw)
        try:
            content = json.loads(raw)
            data = self._inner(content) if how < 0.6 else None
            if data is None:
                return self.tree(content)
            content["message"]["data"] = base64.b64encode(self.body(data)).decode()
            return json.dumps(content).encode()
        except (ValueError, RecursionError):
            return self.raw(raw)

    def raw(self, raw: bytes) -> bytes:
        """Bits flipped, bytes cut off, repeated, inserted or replaced."""
        spoil = self.random.choice((self._flip, self._cut, self._repeat, self._insert, self._replace))
        return spoil(raw)

    def tree(self, content: object) -> bytes:
        """One value of the JSON dropped, replaced, nested, or written as text that is no JSON."""
        paths = list(_paths(content))
        path = self.random.choice(paths)
        how = self.random.randrange(4)
        if how == 0 and path:
            return json.dumps(_edit(content, path, lambda parent, key: parent.pop(key))).encode()
        if how == 1:
            wrapped = [_at(content, path)]
            return json.dumps(_set(content, path, wrapped)).encode()
        if how == 2:
            text = self.random.choice(HOSTILE_TEXTS)
            mark = _MARK.format(self.random.randrange(10**9))
            return json.dumps(_set(content, path, mark)).replace(f'"{mark}"', text).encode()
        return json.dumps(_set(content, path, self.random.choice(HOSTILE_VALUES))).encode()

    def _inner(self, content: object) -> bytes | None:
        try:
            data = content["message"]["data"]  # type: ignore[index]  # whatever it is, it is tried
            return base64.b64decode(data)
        except (TypeError, KeyError, ValueError, binascii.Error):
            return None

    def _place(self, raw: bytes) -> int:
        return self.random.randrange(len(raw) + 1)

    def _flip(self, raw: bytes) -> bytes:
        spoilt = bytearray(raw)
        for _ in range(self.random.randint(1, 4)):
            if spoilt:
                spoilt[self.random.randrange(len(spoilt))] ^= 1 << self.random.randrange(8)
        return bytes(spoilt)

    def _cut(self, raw: bytes) -> bytes:
        return raw[: self._place(raw)]

    def _repeat(self, raw: bytes) -> bytes:
        start = self._place(raw)
        return raw[:start] + raw[start : start + self.random.randint(1, 64)] + raw[start:]

    def _insert(self, raw: bytes) -> bytes:
        start = self._place(raw)
        return raw[:start] + self.random.choice((b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"{", b"]", b'"', b"\\u", b"\n")) + raw[start:]

    def _replace(self, raw: bytes) -> bytes:
        return self.random.choice(
            (b"", b"null", b"[]", b"{}", b"0", b'""', b"\xef\xbb\xbf", raw.decode("utf-8", "replace").encode("utf-16"))
        )


def _paths(value: object, at: Path = ()) -> list[Path]:
    found: list[Path] = [at]
    if len(at) < 12:
        inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in inner:
            found += _paths(item, (*at, key))
    return found


def _at(content: Any, path: Path) -> Any:
    for key in path:
        content = content[key]
    return content


def _set(content: Any, path: Path, value: object) -> Any:
    def put(parent: Any, key: str | int) -> None:
        parent[key] = value

    return _edit(content, path, put) if path else value


def _edit(content: Any, path: Path, change: Callable[[Any, Any], object]) -> Any:
    change(_at(content, path[:-1]), path[-1])
    return content
