"""The pages about Terraform: a README for each module and example, and the table of roles.

The modules are formatted by `terraform fmt`, so a small reader is enough: a block begins at the first column and ends there, and its
arguments are indented by two. A test compares what it reads with what Terraform itself says.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from shared import deployment as parts
from shared.deployment_roles import CUSTOM_ROLES

ROOT = Path(__file__).parent.parent
TREE = ROOT / "terraform"
NOTE = "<!-- Made by `make docs` from the code. Do not edit. -->\n\n"
CELL_LIMIT = 90


class Variable(NamedTuple):
    """One input of a module; `default` is None where it has none. `written` is the type as it stands in the file."""

    name: str
    type: str
    default: str | None
    description: str
    written: str = ""


class Output(NamedTuple):
    """One output of a module."""

    name: str
    description: str


def folders() -> list[Path]:
    """The root, the modules and the examples."""
    return [TREE, *sorted(path.parent for path in TREE.glob("*/*/versions.tf"))]


def variables(folder: Path) -> list[Variable]:
    """What the module's `variables.tf` declares, in its order."""
    found = _blocks(folder / "variables.tf", "variable")
    return [
        Variable(name, _argument(body, "type") or "any", _argument(body, "default"), _text(body), "\n".join(_lines(body, "type")))
        for name, body in found
    ]


def outputs(folder: Path) -> list[Output]:
    """What the module's `outputs.tf` declares, in its order."""
    return [Output(name, _text(body)) for name, body in _blocks(folder / "outputs.tf", "output")]


def readme(folder: Path) -> str:
    """The README of a module or an example."""
    name = "Terraform" if folder == TREE else folder.name
    intro = "\n".join(line.removeprefix("#").strip() for line in _first_comment(folder / "main.tf"))
    said = variables(folder)
    inputs = _table(
        ("input", "type", "default", "meaning"),
        ((f"`{each.name}`", _type(each), _default(each.default), each.description) for each in said),
    )
    shapes = "".join(f"### {each.name}\n\n{_hcl(_outdented(each.written))}\n" for each in said if _is_long(each))
    given = _table(("output", "meaning"), ((f"`{each.name}`", each.description) for each in outputs(folder)))
    return (
        f"# {name}\n\n{NOTE}{intro}\n\n{_links(folder)}{requirements(folder)}\n\n{usage(folder)}## Inputs\n\n{inputs}\n{shapes}"
        f"## Outputs\n\n{given}"
    )


def requirements(folder: Path) -> str:
    """The versions that the module asks for, as its `versions.tf` has them."""
    text = (folder / "versions.tf").read_text()
    (terraform,) = re.findall(r'^  required_version = "(.*)"$', text, re.MULTILINE)
    providers = re.findall(r'source  = "(.*)"\n +version = "(.*)"', text)
    return "".join((f"Terraform `{terraform}`", *(f", provider `{source}` `{version}`" for source, version in providers), "."))


MODULES_OF_A_ROOT = ("alerts", "control-plane", "dashboard", "served-model", "served-project")
USED_IN = {
    **{name: ("examples/several-projects/main.tf", name.replace("-", "_")) for name in MODULES_OF_A_ROOT},
    "function": ("modules/control-plane/functions.tf", "function"),
}
"""Where each module is called, and as what: what Terraform plans in the tests is shown, and nothing that was only written down."""
ROOT_USED_IN = ("examples/adopt-an-existing-service/main.tf", "trimtab")


def usage(folder: Path) -> str:
    """How it is called; of an example, all of it."""
    if folder.parent.name == "examples":
        text = (folder / "main.tf").read_text().splitlines()
        return f"## main.tf\n\n{_hcl(chr(10).join(text[len(list(_first_comment(folder / 'main.tf'))) :]).strip())}\n"
    file, name = ROOT_USED_IN if folder == TREE else USED_IN[folder.name]
    (block,) = (body for called, body in _blocks(TREE / file, "module") if called == name)
    where = f"[{file}]({os.path.relpath(TREE / file, folder)})"
    return f"## Usage\n\nAs {where} calls it:\n\n{_hcl(f'module {chr(34)}{name}{chr(34)} {{{chr(10)}{block}}}')}\n"


def _hcl(text: str) -> str:
    return f"```hcl\n{text}\n```\n"


def roles_page() -> str:
    """docs/reference/roles.md."""
    rows = [(_who(each.account), f"`{_role(each.role)}`", _where(each), _why(each)) for each in parts.grants()]
    own = [
        (f"`{name}`", ", ".join(f"`{permission}`" for permission in sorted(role.permissions)), role.why)
        for name, role in CUSTOM_ROLES.items()
    ]
    granted = _table(("who", "role", "on", "why"), rows)
    asked = _table(("who", "role", "on", "asked for by"), (*ON_DEMAND, *_switched()))
    defined = _table(("role", "permissions", "why"), own)
    return (
        f"# Roles\n\n{NOTE}{ROLES_INTRO}\n{granted}\n## Only where asked for\n\n{asked}\n## Trimtab's own roles\n\n{OWN_INTRO}\n{defined}"
    )


ROLES_INTRO = """Every role that Terraform grants, to whom, on what, and why; a test compares this list with Terraform's plan. No basic role
(owner, editor, viewer) is granted to anybody, and nobody is let in without a name. Only `trimtab-reconcile` may change Cloud Run
services and act as the accounts that they run as: service by service, and as those accounts alone. Only `trimtab-command` may delete a
service, and only one that says so.
"""
OWN_INTRO = """Roles of Google's that would do hold too much: `roles/datastore.user` reads, changes and deletes everything in every database
of the project, and `roles/run.developer` makes and deletes services. Firestore has no rights per collection: what a role allows, it
allows in the whole database. So its bindings carry a condition that names Trimtab's database, and other documents belong in another one.
The functions that only hear of events can neither read a document nor delete one; `trimtab-alert` and `trimtab-audit` could overwrite one
whose name they know.
"""
ON_DEMAND = (
    (
        "each of `command_callers`",
        "`roles/run.invoker`",
        "the function `trimtab-command`",
        "people and scripts that send commands over HTTPS",
    ),
    ("each of `command_publishers`", "`roles/pubsub.publisher`", "the topic `commands`", "systems that send commands through Pub/Sub"),
    (
        "`trimtab-command`",
        "`trimtabRunDeleter`",
        "a served service",
        "`allow_delete` of the model: the command `delete` may end the service",
    ),
)
SWITCHED_BY = {parts.Switch.PROFILER: "`cloud_profiler`", parts.Switch.TRACES: "`trace_ratio` above 0"}
_PLACES = {
    parts.On.PROJECT: "the project",
    parts.On.SERVED_PROJECT: "each project that is served",
    parts.On.TOPIC: "the topic `{topic}`",
    parts.On.DEAD_LETTER_TOPIC: "the topic `{topic}-dead-letters`",
    parts.On.SUBSCRIPTION: "the subscription `trimtab-{name}`",
    parts.On.FUNCTION: "the function `trimtab-{name}`",
    parts.On.ACCOUNT: "the account `trimtab-{name}`",
    parts.On.REPOSITORY: "the repository `trimtab`",
    parts.On.SERVED_SERVICE: "each served service",
    parts.On.SERVING_ACCOUNT: "each account that a served service runs as",
    parts.On.MODEL_BUCKET: "each bucket with models",
    parts.On.IMAGE_REPOSITORY: "each repository with served images",
}


def terraform_pages() -> dict[Path, str]:
    """Every generated file about Terraform and what must stand in it."""
    return {**{folder / "README.md": readme(folder) for folder in folders()}, ROOT / "docs" / "reference" / "roles.md": roles_page()}


def _switched() -> Iterator[tuple[str, str, str, str]]:
    """The roles that come with a switch: a row for each role that every function gets, for it would be the same six times."""
    always = set(parts.grants())
    for switch, said in SWITCHED_BY.items():
        accounts: dict[tuple[str, str, str], list[str | parts.Agent]] = {}
        for grant in parts.grants({switch}):
            if grant not in always:
                accounts.setdefault((grant.role, _where(grant), grant.why), []).append(grant.account)
        for (role, where, why), given in accounts.items():
            who = "each of the six functions" if set(given) == set(parts.FUNCTIONS) else ", ".join(map(_who, given))
            yield who, f"`{_role(role)}`", where, f"{said}: {why}"


def _who(account: str | parts.Agent) -> str:
    if isinstance(account, parts.Agent):
        return f"`{account.value.format(number='NUMBER').removesuffix('.iam.gserviceaccount.com')}`"
    return "the account of a served service" if account == parts.SERVING_ACCOUNT else f"`trimtab-{account}`"


def _role(role: str) -> str:
    return role.removeprefix(parts.CUSTOM)


def _why(grant: parts.Grant) -> str:
    own = CUSTOM_ROLES.get(_role(grant.role))
    return grant.why if own is None else own.why


def _where(grant: parts.Grant) -> str:
    place = _PLACES[grant.on].format(topic=parts.TOPICS.get(grant.name, grant.name), name=grant.name)
    if grant.role.startswith(f"{parts.CUSTOM}trimtabStore"):
        return f"{place}, Trimtab's database only"
    if grant.account == parts.BUILD_ACCOUNT and "storage" in grant.role:
        return f"{place}, buckets `gcf-v2-sources-NUMBER-*` only"
    return place


def _links(folder: Path) -> str:
    if folder != TREE:
        return ""
    listed = "\n".join(f"- [{path.relative_to(TREE)}]({path.relative_to(TREE)}/README.md)" for path in folders()[1:])
    guides = (
        "How to deploy: [docs/guides/deploy.md](../docs/guides/deploy.md). "
        "Who may do what: [docs/reference/roles.md](../docs/reference/roles.md)."
    )
    return f"{guides}\n\n{listed}\n\n"


def _blocks(path: Path, kind: str) -> Iterator[tuple[str, str]]:
    pattern = rf'^{kind} "(?P<name>\w+)" \{{\n(?P<body>.*?)^\}}'
    for match in re.finditer(pattern, path.read_text(), flags=re.MULTILINE | re.DOTALL):
        yield match["name"], match["body"]


def _argument(body: str, name: str) -> str | None:
    """The text of an argument, on one line; its value ends before the next line that is indented by two and closes nothing."""
    return " ".join(" ".join(_lines(body, name)).split()) or None


def _lines(body: str, name: str) -> list[str]:
    """The lines of an argument's value as they stand there; none where it is not given."""
    lines = body.splitlines()
    start = next((number for number, line in enumerate(lines) if re.match(rf"  {name}\s+= ", line)), None)
    if start is None:
        return []
    rest = lines[start + 1 :]
    end = next((number for number, line in enumerate(rest) if re.match(r"  [^\s)\]}]|\s*$", line)), len(rest))
    return [lines[start].partition(" = ")[2].lstrip(), *rest[:end]]


def _text(body: str) -> str:
    return (_argument(body, "description") or "").strip('"').replace('\\"', '"')


def _first_comment(path: Path) -> Iterable[str]:
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            return
        yield line


def _default(default: str | None) -> str:
    return "required" if default is None else _code(default)


def _is_long(variable: Variable) -> bool:
    """Whether its type has fields of which the table can only say that there are some."""
    return len(variable.written.splitlines()) > 1 or len(variable.type) > CELL_LIMIT


def _type(variable: Variable) -> str:
    """As code; of a long type its outermost words, and where it stands in full."""
    outer = re.match(r"(?:\w+\()+", variable.type) if _is_long(variable) else None
    if outer is None:
        return _code(variable.type)
    return f"[`{outer[0]}...{')' * outer[0].count('(')}`](#{variable.name})"


def _code(text: str) -> str:
    return f"`{text}`"


def _outdented(text: str) -> str:
    """What stood within a block, to stand for itself."""
    return re.sub(r"^  ", "", text, flags=re.MULTILINE)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"
