"""One line of a log in its parts: who saw it, gRPC code and HTTP status in whatever spelling, the time of day. Pure.

Spellings of a gRPC code: Python `StatusCode.RESOURCE_EXHAUSTED`, Go `code = ResourceExhausted`, Node `8 RESOURCE_EXHAUSTED`, Java
`Status{code=RESOURCE_EXHAUSTED`, .NET `StatusCode="ResourceExhausted"`, Rust `status: ResourceExhausted, message: `, Ruby
`GRPC::ResourceExhausted`, grpcurl `Code: ResourceExhausted`, the trailer `grpc-status: 8`, google-api-core's exceptions, and older TF
Serving `Resource exhausted:`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_CHARACTERS = 10_000
"""A line is read up to here."""
MAX_LINES = 5_000
"""Of a longer log the first fifth of this and the last four fifths are read: how it began, and how it ends."""
MAX_TOTAL_CHARACTERS = 4_000_000
"""Of all lines together; of more, each line is read less far, and never less than `_LEAST_CHARACTERS`."""
_LEAST_CHARACTERS = 300
_QUOTED = 220
"""Characters of a line that a sentence of evidence quotes."""

CODES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
"""gRPC's codes by number."""

_SQUASHED = {code.replace("_", ""): code for code in CODES} | {
    "CANCELED": "CANCELLED",
    "SERVICEUNAVAILABLE": "UNAVAILABLE",
    "TOOMANYREQUESTS": "RESOURCE_EXHAUSTED",
    "GATEWAYTIMEOUT": "DEADLINE_EXCEEDED",
    "METHODNOTIMPLEMENTED": "UNIMPLEMENTED",
    "BADREQUEST": "INVALID_ARGUMENT",
}
_SHOUTED = "|".join(code for code in CODES if code not in {"OK", "UNKNOWN", "INTERNAL"})
_NAMED_CODE = (
    re.compile(r"StatusCode(?:\.|\s?=\s?\"?)([A-Za-z_]{2,30})"),
    re.compile(r"\b(?:[Ss]tatus|[Cc]ode): \"?([A-Z][A-Za-z]{1,30})\"?(?:,? (?:[Mm]essage|[Dd]etails):|$)"),
    re.compile(r"\bGRPC::([A-Z][A-Za-z]{2,30})\b"),
    re.compile(r"\b(?:rpc error: )?code\s?=\s?\"?([A-Z][A-Za-z_]{1,30})\b"),
    re.compile(r"StatusRuntimeException:\s([A-Z_]{2,30})\b"),
    re.compile(r"google\.api_core\.exceptions\.([A-Za-z]{3,40})\b"),
    re.compile(r"\b\d{1,2} (" + "|".join(CODES) + r")\b"),
    re.compile(rf"\b({_SHOUTED})\b"),
    re.compile(r"\b(Resource exhausted|Deadline exceeded|Failed precondition|Invalid argument|Data loss|Permission denied|Out of range):"),
)
_NUMBERED_CODE = re.compile(
    r"(?:grpc[-_]status[\"']?\s{0,2}[:=]\s{0,2}[\"']?|\bcode: (?=\d{1,2}, (?:details|codename|message):))(\d{1,2})\b", re.IGNORECASE
)
_DESCRIBED_CODE = {
    "some resource has been exhausted": "RESOURCE_EXHAUSTED",
    "the service is currently unavailable": "UNAVAILABLE",
    "operation is not implemented or not supported": "UNIMPLEMENTED",
    "deadline expired before operation could complete": "DEADLINE_EXCEEDED",
    "client specified an invalid argument": "INVALID_ARGUMENT",
    "operation was attempted past the valid range": "OUT_OF_RANGE",
    "some requested entity was not found": "NOT_FOUND",
}
"""As Rust's tonic describes its codes: `status: 'Some resource has been exhausted', self: ""`."""
_DESCRIPTION = re.compile(r"(?:status|code): '([A-Za-z ]{10,60})'", re.IGNORECASE)
_PHRASES = (
    "Too Many Requests|Service Unavailable|Gateway Time-?out|Internal Server Error|Bad Request|Bad Gateway|Conflict|Request Entity Too "
    "Large"
    "|Content Too Large|Payload Too Large|Not Found"
)
_HTTP = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"httpRequest[.\"': {]{1,6}status[\"']?\s{0,2}[=:]\s{0,2}[\"']?(\d{3})\b",
        r"\bhttp2 header with status: ?(\d{3})\b",
        r"\bgot status code: ?(\d{3})\b",
        r"\bhttp connection completed with (\d{3})\b",
        r"\bhttp status code received from server: ?(\d{3})\b",
        r"\bHTTP(?:/\d(?:\.\d)?)?[\"']?,?[ :]{1,2}(?:status[ :]{1,2})?(?:response )?(?:code[ :]{1,2})?(\d{3})\b",
        r"exceptions\.[A-Za-z]{3,40}: (\d{3})\b",
        r"(?:googleapi: |Http)Error:? (\d{3})\b",
        r"returned error: (\d{3})\b",
        r"(?:->|=>|→)\s{0,2}(?:HTTP )?(\d{3})\b",
        r"\b(?:GET|POST|PUT|PATCH|DELETE) \S{1,300} (\d{3})\b",
        r"\b(?:http )?(?:response[_ ]?)?(?:status|code)(?:[_ ]?code)?[\"']?\s{0,2}[=:]\s{0,2}[\"']?(\d{3})\b",
        r"\bstatus(?: code)? (\d{3})\b",
        rf"\b(\d{{3}}) (?:{_PHRASES})\b",
        r"^(\d{3}) (?=[A-Z])",
        r"\b(?:POST|GET) (\d{3}) ",
        r"\berror (\d{3})\b",
    )
)
_LEAST_STATUS, _LAST_STATUS = 100, 599
_EMPTY_DETAILS = re.compile(
    r"(?:details?|\bmessage|\bself)\s?[=:]\s?\\?(?:\"\\?\"|'')"
    r"|grpc[-_]message\\?[\"']?\s{0,2}:\s{0,2}\\?(?:\"\\?\"|'')|\bdesc =\s{0,2}(?:\"\")?\s{0,2}$"
    r"|description=null"
    r"|\bmessage: ?(?:null)?, ?details:|\bCode: ResourceExhausted,? Message:\s{0,2}$|GRPC::ResourceExhausted:? \(?8:\)?\s{0,2}$"
    r"|\b8 RESOURCE_EXHAUSTED:?\s{0,2}$|StatusRuntimeException: RESOURCE_EXHAUSTED\s{0,2}$|ResourceExhausted: (?:429 )?(?:None)?\s{0,2}$",
    re.IGNORECASE,
)
_SAID_DETAILS = re.compile(
    r"(?:details?\s?=\s?|(?:\bmessage|\bself): ?|grpc[-_]message\\?[\"']?\s{0,2}:\s{0,2})\\?[\"'](?!\\?[\"'])\S", re.IGNORECASE
)
_SEEN_AT = re.compile(r"(?P<who>[A-Za-z][A-Za-z _-]{1,24}?): ")
_TWO_LINES = re.compile(r"(\bCode: [A-Z]\w{1,30})\s{1,40}(Message:)")
"""grpcurl writes code and message one below the other."""
_WHO = frozenset(
    {"client", "server", "controller", "caller", "service", "subscription", "monitoring", "request log", "platform", "gateway", "proxy"}
)
_TIME = re.compile(r"(?:^|[T ])(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(?=\D|$)")
_HOURS, _MINUTES = 24, 60


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `number` counts from 1 in what was given."""

    number: int
    text: str
    """Without the word that says who saw it, its white space as single blanks."""
    seen_at: str
    """`client`, `server`, `controller` and the like; empty where the line does not say."""
    grpc: str | None
    """gRPC's code, as `RESOURCE_EXHAUSTED`."""
    http: int | None
    details_empty: bool
    """Whether it is a gRPC error that says nothing more than its code, and shows so."""
    second_of_day: float | None

    def quoted(self) -> str:
        """The line as a sentence of evidence quotes it."""
        place = f"log line {self.number}" + (f" ({self.seen_at})" if self.seen_at else "")
        text = self.text if len(self.text) <= _QUOTED else f"{self.text[:_QUOTED].rstrip()}..."
        return f"{place}: {text}"


def read_lines(texts: Sequence[str]) -> tuple[Line, ...]:
    """Every line that is read, with its number."""
    flat = [piece for text in texts for piece in _TWO_LINES.sub(r"\1 \2", text).splitlines() if piece.strip()]
    numbered = list(enumerate(flat, start=1))
    if len(numbered) > MAX_LINES:
        numbered = [*numbered[: MAX_LINES // 5], *numbered[-(MAX_LINES - MAX_LINES // 5) :]]
    most = min(MAX_CHARACTERS, max(_LEAST_CHARACTERS, MAX_TOTAL_CHARACTERS // max(1, len(numbered))))
    return tuple(read_line(number, text, most) for number, text in numbered)


def read_line(number: int, text: str, most: int = MAX_CHARACTERS) -> Line:
    """One line in its parts, read up to `most` characters."""
    flat = " ".join(text[:most].split())
    found = _SEEN_AT.match(flat)
    who = found["who"].lower() if found is not None and found["who"].lower() in _WHO else ""
    own = flat[found.end() :] if found is not None and who else flat
    grpc = _grpc(own)
    return Line(
        number=number,
        text=own,
        seen_at=who,
        grpc=grpc,
        http=_http(own),
        details_empty=grpc is not None and _EMPTY_DETAILS.search(own) is not None and _SAID_DETAILS.search(own) is None,
        second_of_day=second_of_day(own),
    )


def second_of_day(text: str) -> float | None:
    """The first time of day in a text (`12:01`, `10:04:02.250`), in seconds since midnight; None where it has none."""
    found = _TIME.search(text)
    if found is None or int(found[1]) >= _HOURS or int(found[2]) >= _MINUTES:
        return None
    return int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3] or 0)


def _grpc(text: str) -> str | None:
    for pattern in _NAMED_CODE:
        for found in pattern.finditer(text):
            code = _SQUASHED.get(found[1].replace("_", "").replace(" ", "").upper())
            if code is not None:
                return code
    described = _DESCRIPTION.search(text)
    if described is not None and described[1].lower() in _DESCRIBED_CODE:
        return _DESCRIBED_CODE[described[1].lower()]
    numbered = _NUMBERED_CODE.search(text)
    if numbered is not None and int(numbered[1]) < len(CODES):
        return CODES[int(numbered[1])]
    return None


def _http(text: str) -> int | None:
    for pattern in _HTTP:
        found = pattern.search(text)
        if found is not None and _LEAST_STATUS <= int(found[1]) <= _LAST_STATUS:
            return int(found[1])
    return None
