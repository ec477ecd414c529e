"""What callers see: their gRPC or HTTP library, Google's front end, and what people write beside a log. Pure.

Sources: grpc's HTTP status mapping, grpc-go 6826, grpc-java, grpc-dotnet, grpc-node, tonic, curl, Envoy's local replies, Google's front
end.
"""

from shared.diagnose.signatures import Signature, Speaker, like

_PLAIN_HTTP = (
    r"received http2 header with status|http status code received from server|received http status code \d|bad grpc response"
    r"|mapped from http status code|http connection completed with \d{3} instead of 200"
    r"|\b(?:unimplemented|unavailable|internal|unknown|cancelled)\b.{0,80}\bhttp status code:? ?\d{3}"
)
"""How a gRPC library words that the answer was plain HTTP."""
_NOT_A_FORM = (
    r"received unexpected content-type|invalid content-type:? \"?(?:text|application/json)|bad grpc response\. invalid content-type"
)
_OVERLOAD = frozenset({429, 502, 503, 504})
"""Statuses by which the platform in front of the server answers."""
_CLIENT, _FRONT, _PERSON = Speaker.CLIENT, Speaker.FRONT_END, Speaker.PERSON


def _row(
    sign: str,
    pattern: str,
    cause: str | None,
    weight: float,
    *,
    means: str,
    source: str,
    http: frozenset[int] = frozenset(),
    not_http: frozenset[int] = frozenset(),
) -> Signature:
    return Signature(sign, like(pattern), cause, weight, _CLIENT, means, source, http, not_http)


TABLE: tuple[Signature, ...] = (
    _row(
        "message-limit",
        r"(?:received|receive) message (?:after decompression )?larger than max|grpc message exceeds maximum size \d"
        r"|decoded message length too large|received message exceeds the maximum configured message size"
        r"|message (?:size )?exceeds (?:the )?max(?:imum)?.{0,30}4194304"
        r"|\(\d{1,12} vs\.? 4194304\)",
        "client-message-limit",
        0.95,
        means="raised in the client: its channel takes 4 MiB unless told otherwise; the server has answered and counts a success",
        source="tensorflow/serving 1382; grpc",
    ),
    _row(
        "sent-message-limit",
        r"(?:sent|send|trying to send) message larger than max|encoded message length too large"
        r"|sending message exceeds the maximum configured message size|attempted to send message with a size larger than",
        "client-message-limit",
        0.9,
        means="raised in the client: its channel does not send a message of this size",
        source="grpc",
    ),
    _row(
        "spoke-wrong-protocol",
        r"trying to connect an http1\.x server|error reading server preface|http2: frame too large|malformed http response \"\\x00"
        r"|received http/0\.9 when not allowed|preface string missing or corrupt|reset reason: protocol error|\bpri \* http/2\.0"
        r"|http/2 stream .{0,40}not closed cleanly: protocol_error|invalid http/2 connection preface|unexpected http/1\.x"
        r"|\bunsupported http version"
        r"|upstream connect error.{0,200}protocol error|remote peer returned unexpected.{0,40}(?:http/1|preface)",
        "protocol-mismatch",
        0.9,
        means="one side speaks HTTP/1 and the other HTTP/2 (gRPC)",
        source="grpc-go 6826; Envoy; curl",
    ),
    _row(
        "not-grpc",
        _PLAIN_HTTP,
        "protocol-mismatch",
        0.75,
        means="a gRPC call was answered by a server that speaks plain HTTP there, and knows no such path",
        source="grpc http-grpc-status-mapping; grpc 17390; grpc-node 687",
        http=frozenset({400, 404, 405, 415, 464, 501}),
    ),
    _row(
        "not-grpc",
        _NOT_A_FORM,
        "protocol-mismatch",
        0.75,
        means="a gRPC call was answered with something that is no gRPC",
        source="grpc http-grpc-status-mapping; grpc-java 9496",
        not_http=_OVERLOAD | {401, 403, 413, 500},
    ),
    _row(
        "platform-answered",
        _PLAIN_HTTP,
        None,
        0.0,
        means="a plain HTTP answer of the platform in front of the server, which a gRPC client shows under a code of its own; TF Serving "
        "did not write it",
        source="grpc http-grpc-status-mapping; ArmoniK 204",
        http=_OVERLOAD | {500},
    ),
    _row(
        "transport-closed",
        r"\btransport closed\b|connection (?:reset|closed) before (?:headers|server preface)|http2 connection preface|\bsocket closed\b"
        r"|upstream connect error or disconnect/reset before headers",
        "protocol-mismatch",
        0.35,
        means="the connection was closed before an answer came",
        source="grpc; tensorflow/serving 577, 1536",
    ),
    Signature(
        "body-too-large",
        like(r"your client issued a request that was too large|request entity too large|payload too large|content too large"),
        "request-too-large",
        0.93,
        _FRONT,
        "Google's front end takes 32 MiB over HTTP/1 at most; the request never reached the container",
        "Cloud Run's quotas page",
    ),
    _row(
        "deadline",
        r"deadline[_ ]?exceeded|deadline exceeded",
        None,
        0.0,
        means="the caller's deadline passed",
        source="grpc",
    ),
    _row(
        "retrying",
        r"same message_?id|redeliver|re-deliver|ackdeadline|retry(?:ing)? (?:immediately|without backoff)|no (?:retry_policy )?back-?off"
        r"|maxattempts|max_attempts|attempt \d{1,4}(?:/| of )\d{1,4}.{0,80}immediately|retry(?:_| )?policy.{0,80}(?:unavailable"
        r"|resource_exhausted)"
        r"|retry(?:able)?(?: on)?[: ].{0,60}(?:503|429|unavailable|resource_exhausted)",
        None,
        0.0,
        means="the caller sends the same work again",
        source="Pub/Sub push, gRPC retry policy",
    ),
    Signature(
        "no-effect",
        like(
            r"no (?:effect|change|log line)|nothing (?:happens|happened|changed)|still (?:\w{1,12} ){0,4}(?:old|previous|same)\b"
            r"|(?:old|previous) (?:model|version|weights|config\w{0,8}) (?:is |are )?still|same (?:answers|predictions|scores|outputs)"
            r"|no '?\"?loading servable|(?:answers|predictions|scores|outputs|results) (?:did not|didn't|do not|don't|have not) change"
            r"|never return|hangs|not picked up|ignored|still serv(?:es|ing)|unchanged|only (?:one|1) (?:of|instance)|other instances"
            r"|some instances|stale"
        ),
        None,
        0.0,
        _PERSON,
        "what was done did not show",
        "",
    ),
    Signature(
        "overwritten",
        like(
            r"overwr(?:o|i)t\w{0,4}|overwriting|(?:replaced|re-?uploaded|changed|copied|synced) (?:in place|over|into the same)"
            r"|same (?:version )?(?:directory|number|folder)"
            r"|in[- ]place\b.{0,60}(?:version|directory|upload|model)|(?:gsutil|gcloud storage)(?: -m)? (?:cp|rsync"
            r"|mv)\b.{0,400}/\d{1,20}(?:/|\s|$)"
        ),
        None,
        0.0,
        _PERSON,
        "a version's directory was written again under the same number",
        "tensorflow/serving 1822",
    ),
    Signature(
        "config-written",
        like(
            r"(?:edited|updated|changed|uploaded|replaced|pushed|wrote|copied|added).{0,80}(?:models?\.config|model[_ ]config|config file)"
            r"|models?\.config.{0,80}(?:edited|updated|changed|uploaded|replaced|pushed|written)"
        ),
        None,
        0.0,
        _PERSON,
        "the models' configuration was changed while the server runs",
        "tensorflow/serving 1519",
    ),
    Signature(
        "some-tries",
        like(r"\b(?P<some>\d{1,4}) ?(?:of|out of|/) ?(?P<all>\d{1,4}) (?:tries|calls|requests|attempts|times|instances|probes|gets)"),
        None,
        0.0,
        _PERSON,
        "it depends on which instance answers",
        "",
    ),
)
