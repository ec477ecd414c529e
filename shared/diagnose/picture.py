"""Everything that one question shows, resolved once: what the rules of causes and remedies look at. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from shared.cloudrun.described import Described
from shared.diagnose import signatures_callers, signatures_platform, signatures_server
from shared.diagnose.files_seen import ModelFiles, read_files
from shared.diagnose.lines import Line, read_lines
from shared.diagnose.load_seen import Load
from shared.diagnose.measures import Measures, read_measures
from shared.diagnose.settings_seen import Settings, read_settings
from shared.diagnose.signatures import Sighting, sightings
from shared.lint.checking import resolved
from shared.lint.deployment import Deployment
from shared.lint.given import Given

_GRPC_WORDS = ("StatusCode", "rpc error", "StatusRuntimeException", "GRPC::", "RpcException")
SIGNATURES = (*signatures_server.TABLE, *signatures_platform.TABLE, *signatures_callers.TABLE)


@dataclass(frozen=True)
class Picture:
    """One question, read."""

    given: Given
    deployment: Deployment
    settings: Settings
    lines: tuple[Line, ...]
    seen: tuple[Sighting, ...]
    measures: Measures
    load: Load
    files: ModelFiles

    def saw(self, *signs: str) -> Sighting | None:
        """The first line that bears one of these signs."""
        return next((each for each in self.seen if each.signature.sign in signs), None)

    def all_seen(self, *signs: str) -> list[Sighting]:
        """Every line that bears one of these signs, in order."""
        return [each for each in self.seen if each.signature.sign in signs]

    def last(self, *signs: str) -> Sighting | None:
        """The last line that bears one of these signs."""
        found = self.all_seen(*signs)
        return found[-1] if found else None

    @cached_property
    def objective_ms(self) -> float | None:
        """The latency objective: as given, else the threshold of a latency alert."""
        return self.given.p99_ms if self.given.p99_ms is not None else self.alert_threshold_ms

    @cached_property
    def alert_metric(self) -> str:
        """The metric that the alert watches; empty without one."""
        metric = (self.given.alert or {}).get("metric")
        kind = metric.get("type") if isinstance(metric, dict) else None
        return kind if isinstance(kind, str) else ""

    @cached_property
    def alert_threshold_ms(self) -> float | None:
        """The threshold of an alert on latency."""
        if "latenc" not in self.alert_metric:
            return None
        try:
            return float((self.given.alert or {}).get("threshold_value") or "nan") or None
        except (TypeError, ValueError):
            return None

    @cached_property
    def at_maximum(self) -> bool | None:
        """Whether as many instances run as may; None where either number is not known."""
        total, most = self.load.instance_total, self.settings.max_instances
        return None if total is None or most is None else total >= most

    @cached_property
    def grpc_client(self) -> bool:
        """Whether some caller speaks gRPC."""
        if self.saw("not-grpc", "platform-answered") is not None:
            return True
        return any(line.grpc is not None and line.http is None and any(word in line.text for word in _GRPC_WORDS) for line in self.lines)

    @cached_property
    def log_text(self) -> str:
        """All lines, for what is said anywhere."""
        return "\n".join(line.text for line in self.lines)

    def mentions(self, words: Iterable[str]) -> bool:
        """Whether the log has one of the words."""
        lower = self.log_text.lower()
        return any(word in lower for word in words)


def read_picture(given: Given, described: Described | None = None) -> Picture:
    """Resolve the configuration and read logs, metrics and listing."""
    deployment = resolved(given, described)
    lines = read_lines(given.logs)
    measures = read_measures(given.metrics)
    return Picture(
        given=given,
        deployment=deployment,
        settings=read_settings(deployment, "\n".join(line.text for line in lines)),
        lines=lines,
        seen=sightings(lines, SIGNATURES),
        measures=measures,
        load=Load(measures),
        files=read_files(given.objects),
    )
