"""What varies between deployments, from the environment, read at the first request. docs/reference/settings.md is made from here."""

import json
import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

PREFIX = "TRIMTAB_"


def _listed(value: object) -> object:
    """A comma-separated list as its parts; spaces around them do not count."""
    return tuple(part for part in (piece.strip() for piece in value.split(",")) if part) if isinstance(value, str) else value


Pattern = Annotated[str, StringConstraints(min_length=1, max_length=512, pattern=r"^[^*\s]*\*?$")]
Patterns = Annotated[tuple[Pattern, ...] | None, BeforeValidator(_listed), Field(min_length=1)]
"""A comma-separated list of names. A `*` at the end of one stands for anything behind it."""


def _json(value: object) -> object:
    """JSON text as what it says."""
    if not isinstance(value, str):
        return value
    if len(value) > GRANTS_LIMIT_BYTES:
        raise ValueError(f"has {len(value)} characters, at most {GRANTS_LIMIT_BYTES} are read")
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON: {str(error)[:200]}") from None


GRANTS_LIMIT_BYTES = 32 * 1_024
"""Of all variables together Cloud Run takes no more."""
Topic = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9._~+%-]{2,254}$")]


class Settings(BaseModel):
    """Every setting is the environment variable of its name in capitals with the prefix `TRIMTAB_`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    edition: Annotated[
        Literal["gcp", "local"], Field(description="Where the ports lead: Google Cloud, or the local edition inside `trimtab local`.")
    ] = "gcp"
    project: Annotated[
        str,
        Field(
            description="The project of Trimtab's own topics and database; `GOOGLE_CLOUD_PROJECT` where it is not set.",
            pattern=r"^[a-z0-9.:-]{6,92}$",
        ),
    ]
    firestore_database: Annotated[
        str, Field(description="The Firestore database.", pattern=r"^(\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$")
    ] = "(default)"
    events_topic: Annotated[
        str | None,
        Field(
            description="The Pub/Sub topic that others listen at for what Trimtab did; unset: nothing is told.",
            pattern=r"^[A-Za-z][A-Za-z0-9._~+%-]{2,254}$",
        ),
    ] = None
    wakes_topic: Annotated[str, Field(description="The Pub/Sub topic of wakes.", pattern=r"^[A-Za-z][A-Za-z0-9._~+%-]{2,254}$")] = "wakes"
    cloud_run_endpoint: Annotated[
        str | None,
        Field(
            description="A simulated Cloud Run Admin API on this machine (`127.0.0.1:PORT`, without encryption); unset: the real one.",
            pattern=r"^(127\.0\.0\.1|localhost|\[::1\]):[0-9]{1,5}$",
        ),
    ] = None
    cloud_run_rest_endpoint: Annotated[
        str | None,
        Field(
            description="The REST door of the same simulated Cloud Run, likewise; needed beside it for autoscaling set-points.",
            pattern=r"^(127\.0\.0\.1|localhost|\[::1\]):[0-9]{1,5}$",
        ),
    ] = None
    storage_endpoint: Annotated[
        str | None,
        Field(
            description="A simulated Cloud Storage on this machine (its JSON API over HTTP), likewise: the models come from there.",
            pattern=r"^(127\.0\.0\.1|localhost|\[::1\]):[0-9]{1,5}$",
        ),
    ] = None
    logging_endpoint: Annotated[
        str | None,
        Field(
            description="A simulated Cloud Logging on this machine (its REST API), likewise. Unset, with a simulated Cloud Run: no log is "
            "read, and nothing is diagnosed.",
            pattern=r"^(127\.0\.0\.1|localhost|\[::1\]):[0-9]{1,5}$",
        ),
    ] = None
    monitoring_endpoint: Annotated[
        str | None,
        Field(
            description="A simulated Cloud Monitoring on this machine (its REST API), likewise. Unset, with a simulated Cloud Run: metrics "
            "are Unknown.",
            pattern=r"^(127\.0\.0\.1|localhost|\[::1\]):[0-9]{1,5}$",
        ),
    ] = None
    profiler: Annotated[
        bool,
        Field(
            description="Whether Cloud Profiler samples where processor time goes. It needs the archive with the profiler in it "
            "(`make package` makes both)."
        ),
    ] = False
    trace_ratio: Annotated[
        float,
        Field(
            description="The share of requests, 0 to 1, whose spans go to Cloud Trace over OpenTelemetry, beside those that Cloud Run "
            "traces itself. Unset: none.",
            ge=0,
            le=1,
            allow_inf_nan=False,
        ),
    ] = 0.0
    telemetry_endpoint: Annotated[
        str | None,
        Field(
            description="Where spans and profiles go instead (OTLP over HTTP, and the Profiler API): on this machine, likewise.",
            pattern=r"^(127\.0\.0\.1|localhost|\[::1\]):[0-9]{1,5}$",
        ),
    ] = None
    allowed_images: Annotated[
        Patterns,
        Field(
            description="Container images that specs may name, by reference, comma-separated; a `*` at the end stands for anything "
            "(`europe-docker.pkg.dev/acme-ml/serving/*`). Unset: any."
        ),
    ] = None
    allowed_service_accounts: Annotated[
        Patterns,
        Field(description="Service accounts that specs may name, likewise. Unset: those of the service's own project."),
    ] = None
    allowed_buckets: Annotated[Patterns, Field(description="Buckets that models may come from, likewise. Unset: any.")] = None
    allowed_projects: Annotated[Patterns, Field(description="Projects whose services specs may name, likewise. Unset: any.")] = None
    own_principals: Annotated[
        Patterns,
        Field(description="Service accounts that Trimtab runs as, likewise: their changes are its own. Unset: none is known."),
    ] = None

    command_grants: Annotated[
        tuple[dict[str, Any], ...],
        BeforeValidator(_json),
        Field(
            description='Who may give which commands, as a JSON list of `{"subscription": "projects/P/subscriptions/S"` or '
            '`"identity": "user@example.com", "commands": ["patch", "hold"], "services": '
            '["acme-ml:europe-west1:*"]}`. `*` alone is every service, and what is about none: holds of all services, '
            "`redrive`, `discard`. A patch of image, service account or autonomy takes `apply` as well. Unset: nobody may anything.",
            max_length=200,
        ),
    ] = ()
    push_service_account: Annotated[
        str | None,
        Field(
            description="The service account whose token Pub/Sub's push subscriptions of `commands` carry: what comes as this account has "
            "the rights of its subscription. Unset: no request counts as a push.",
            pattern=r"^[^@\s]{1,128}@[^@\s]{1,190}$",
        ),
    ] = None
    alerts_topic: Annotated[Topic, Field(description="The Pub/Sub topic of alerts: where parked alerts are published again.")] = "alerts"
    uploads_topic: Annotated[Topic, Field(description="The same of uploads.")] = "model-uploads"
    commands_topic: Annotated[Topic, Field(description="The same of commands.")] = "commands"
    changes_topic: Annotated[Topic, Field(description="The same of changes by others.")] = "changes"
    ticks_topic: Annotated[Topic, Field(description="The same of ticks.")] = "ticks"

    @property
    def function_topics(self) -> Mapping[str, str]:
        """The topic that each function's push subscription listens to."""
        return {
            "alert": self.alerts_topic,
            "upload": self.uploads_topic,
            "command": self.commands_topic,
            "audit": self.changes_topic,
            "schedule": self.ticks_topic,
            "reconcile": self.wakes_topic,
        }

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read the settings; empty variables count as unset.

        Raises:
            ValueError: a variable is unknown, missing or malformed; the message names it, its value and what it may be.
        """
        variables = os.environ if environment is None else environment
        given = {name.removeprefix(PREFIX).lower(): value for name, value in variables.items() if name.startswith(PREFIX) and value}
        if "project" not in given and variables.get("GOOGLE_CLOUD_PROJECT"):
            given["project"] = variables["GOOGLE_CLOUD_PROJECT"]
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            problems = "; ".join(
                f"{PREFIX}{'.'.join(map(str, problem['loc'])).upper()}{_given(problem)}: {problem['msg']}" for problem in error.errors()
            )
            msg = f"settings: {problems}"
            raise ValueError(msg) from None


def _given(problem: ErrorDetails) -> str:
    return " is not set" if problem["type"] == "missing" else f"={str(problem['input'])[:80]!r}"
