"""A Cloud Run service as somebody's text describes it: a command, a document, a plan. One value for all of them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from shared.cloudrun.fields import Json
from shared.cloudrun.limits import MadeWith


class Form(StrEnum):
    """What the text is."""

    GCLOUD = "gcloud"
    """`gcloud run deploy` or `gcloud run services update` commands, with `docker run` lines beside them or without."""
    DOCKER = "docker"
    """`docker run` lines alone: a container, and no Cloud Run service."""
    V1 = "v1"
    """A Knative document: `gcloud run services describe --format export`."""
    V2 = "v2"
    """A document of the Admin API v2, YAML or JSON."""
    TERRAFORM = "terraform"
    """A plan of Terraform as JSON."""
    SPEC = "spec"
    """One of Trimtab's own specs."""


class ReadingProblem(StrEnum):
    """What can be wrong with the text itself; the values are the lint codes that report it."""

    UNKNOWN_FLAG = "gcloud-unknown-flag"
    ARGS_NEEDS_EQUALS = "gcloud-args-needs-equals"
    ARGS_COMMA_SPLIT = "gcloud-args-comma-split"
    VALUE_INVALID = "gcloud-value-invalid"
    OTHER_TRACK = "gcloud-flag-other-track"
    """The flag is there in another release track than the one that the command names; newer releases of gcloud move flags to ga."""
    DOCUMENT_INVALID = "service-document-invalid"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that gcloud's parser or the Admin API refuses in the text as it stands."""

    kind: ReadingProblem
    message: str
    """What is wrong with which value, and what the parser or the API says."""
    fix: str
    """Text to paste, or what to do; empty where nothing certain can be said."""
    line: int | None
    """In the text, from 1."""
    field: str
    """As the text calls it: `--max-concurrency`, `/spec/template/spec/containers/0/image`."""


@dataclass(frozen=True, slots=True)
class Described:
    """A service as the text says it.

    `service` is REST JSON of the Admin API v2 with what the text says and nothing else: an absent field was not said. Where a text
    says something that v2 cannot hold (an unknown flag, a value of the wrong type), it is in `problems` and not in `service`.
    """

    form: Form
    service: Json
    complete: bool
    """Whether the text describes the whole service, so that what it does not say is Cloud Run's default (`deploy`; a document with
    containers). False: `services update`, a part of a document; nothing can be said about what is absent."""
    region: str | None = None
    project: str | None = None
    made_with: MadeWith = MadeWith.API
    """Whose defaults hold where `complete`."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """JSON pointer into `service` to the line of the text, from 1; of the whole, the empty pointer, where what is not said is missing."""
    names: Mapping[str, str] = field(default_factory=dict)
    """JSON pointer into `service` to what the text calls the field; a pointer that is not here is called by itself."""
    problems: tuple[Problem, ...] = ()

    @property
    def is_service(self) -> bool:
        """Whether there is a Cloud Run service at all, or only a container."""
        return self.form is not Form.DOCKER

    def place(self, pointer: str) -> tuple[str, int | None]:
        """What the text calls a field of `service`, and its line: its own, or that of the nearest object around it."""
        way = pointer
        while way and way not in self.lines and way not in self.names:
            way = way.rpartition("/")[0]
        return self.names.get(way, pointer), self.lines.get(way)
