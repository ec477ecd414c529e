"""What mends: commands with every name in them quoted for a shell; for a plan, Terraform to paste. Pure.

What a plan lacks is mended in its configuration: the resources that a command would name are not there yet.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from shared.deployment import FUNCTIONS, service_name
from shared.doctor import hcl
from shared.doctor.picture import Function, NotAsked, NotSeen, Picture, Source

NAMES = frozenset(map(service_name, FUNCTIONS))
CONTROL_PLANE = "terraform/modules/control-plane"
FUNCTION = "google_cloudfunctions2_function"
VARIABLES = "VARS=THE_FILE_YOU_DEPLOYED_WITH"
"""In a command that deploys, for the file of variables: without it the defaults would be applied. As it stands no such file is there, and
`make` refuses."""


def gcloud(*words: str, project: str) -> str:
    """A gcloud command about a project."""
    return shlex.join(["gcloud", *words, f"--project={project}"])


def redeploy(picture: Picture) -> str:
    """What makes anew what Terraform makes; for a plan, where it is made as it should be."""
    if picture.source is Source.PLAN:
        return f"{CONTROL_PLANE} makes it so: use that as it is, {hcl.AGAIN}"
    return shlex.join(["make", "deploy", f"PROJECT={picture.project}", f"REGION={region(picture)}", VARIABLES])


def either(picture: Picture, command: str, planned: str) -> str:
    """The command for a project; for a plan, what its configuration must say."""
    return planned if picture.source is Source.PLAN else command


def made(picture: Picture, kind: str, name: str, attributes: Iterable[hcl.Pair], *blocks: Sequence[str], first: bool = False) -> str:
    """What makes a resource of the control plane that is missing. `first`: other parts need it, so it waits for none of them."""
    of = ("project", hcl.quoted(picture.project))
    planned = hcl.resource(kind, name, [of, *attributes], *blocks, after=None if first else picture.root)
    return either(picture, redeploy(picture), planned)


def changed(picture: Picture, kind: str, name: str, *lines: str) -> str:
    """What makes a resource of the control plane say this."""
    return either(picture, redeploy(picture), hcl.change(kind, name, lines))


def with_variables(picture: Picture, function: str, variables: Mapping[str, str]) -> str:
    """What gives a function these variables."""
    lines = hcl.pairs((name, hcl.quoted(value)) for name, value in variables.items())
    return changed(picture, FUNCTION, function, *hcl.block("service_config", hcl.block("environment_variables =", lines)))


def in_variables(picture: Picture, *lines: str) -> str:
    """What must stand among Terraform's variables, and what then."""
    return either(picture, "\n".join([f"# in terraform.tfvars, then {redeploy(picture)}", *lines]), hcl.tfvars(lines))


def topic_path(topic: str, picture: Picture) -> str:
    """A topic's full name, as Terraform writes it."""
    return hcl.quoted(f"projects/{picture.project}/topics/{topic}")


def region(picture: Picture) -> str:
    """Where the functions are; a placeholder where that is not known."""
    functions = picture.functions
    found = [] if isinstance(functions, NotSeen | NotAsked) else functions.values()
    return home(each for each in found if each.name in NAMES) or "REGION"


def home(functions: Iterable[Function]) -> str | None:
    """The region that most of these functions are in; of several the first by name."""
    counted = Counter(each.region for each in functions if each.region)
    return min(counted, key=lambda region: (-counted[region], region), default=None)
