"""The catalog of lint codes: complete, in plain words, with examples that are right."""

import ast
import re
from pathlib import Path

import pytest

from shared.lint.asking import ask
from shared.lint.catalog import CODES, GROUPS, Code
from shared.lint.finding import Finding, Where
from shared.lint.recognition import kind_of
from shared.tfserving.batching import parse_batching
from shared.tfserving.flags import parse_flags
from shared.tfserving.model_config import parse_model_config
from tests.support.gcloud_parser import parse_all, parse_updates
from tests.support.pasted import commands, deployments, server_flags, service_updates

ROOT = Path(__file__).parents[3]
ALL = [pytest.param(code, id=code.name) for code in CODES.values()]
SENTENCES = ("when", "not_when", "why", "fix")
SYMBOLS = re.compile(r"(?<![\w'`/.-])[B-HJ-Z](?![\w'+-])|\b(?:Nmax|Qe|tau)\b|\bs\(B\)|\[(?:S|D|L|R|G|E|I \d+)\]")
"""Letters for quantities, and tags for sources, of which a reader does not know the meaning."""
GCLOUD_SERVICE = {
    "apiVersion": "serving.knative.dev/v1",
    "kind": "Service",
    "metadata": {"name": "ranker"},
    "spec": {"template": {"spec": {"containers": [{"image": "tensorflow/serving:2.20.0-gpu"}]}}},
}


def emitted() -> dict[str, set[str]]:
    """The first argument of each `Finding(...)` of the lint room, by module; names of constants are looked up in their module."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "shared" / "lint").glob("*.py")):
        tree = ast.parse(path.read_text())
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Finding":
                first = call.args[0] if call.args else next(each.value for each in call.keywords if each.arg == "code")
                if isinstance(first, ast.Constant):
                    found.setdefault(path.name, set()).add(str(first.value))
                elif isinstance(first, ast.Name) and first.id in constants:
                    found.setdefault(path.name, set()).add(constants[first.id])
    return found


def written() -> set[str]:
    """Every text constant of the rules, and of the rooms whose readers name codes."""
    texts: set[str] = set()
    for room in ("lint", "cloudrun", "tfserving"):
        for path in (ROOT / "shared" / room).glob("*.py"):
            if path.name != "catalog.py" and not path.name.startswith("codes_"):
                tree = ast.parse(path.read_text())
                texts |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return texts


def test_there_are_seventy_three_codes_each_in_one_group() -> None:
    assert len(CODES) == 73
    assert sum(len(group.codes) for group in GROUPS) == 73
    assert all(name == code.name and re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)+", name) for name, code in CODES.items())


def test_severities_stay_what_they_are() -> None:
    counted = {severity: sum(code.severity == severity for code in CODES.values()) for severity in ("error", "warning", "info")}
    assert counted == {"error": 44, "warning": 24, "info": 5}
    assert Finding("queue-unbounded", "m", Where("batching", "b.txt"), "f").severity == "info"
    assert Finding("batching-off-on-gpu", "m", Where("flags", "f"), "f").authority.startswith("tensorflow/serving issue 1460 (https://")


def test_every_code_that_a_rule_reports_is_in_the_catalog() -> None:
    unknown = {module: codes - set(CODES) for module, codes in emitted().items() if codes - set(CODES)}
    assert unknown == {}


def test_every_code_of_the_catalog_is_reported_by_a_rule() -> None:
    assert set(CODES) - written() == set()


@pytest.mark.parametrize("code", ALL)
def test_each_text_is_whole_sentences_on_one_line(code: Code) -> None:
    for field in SENTENCES:
        text = getattr(code, field)
        assert len(text) > 10, field
        assert text[0].isupper() or text.startswith(("`", "gcloud ", "gRPC ")) or text[0].isdigit(), field
        assert re.search(r"[.)`]$", text), field
        assert "\n" not in text
        assert text.count("`") % 2 == 0, field
        assert "  " not in text, field
    assert code.example
    assert code.authority
    assert all(part.strip() for part in code.authority.split("; "))


@pytest.mark.parametrize("code", ALL)
def test_a_title_fits_a_heading(code: Code) -> None:
    assert 10 < len(code.title) <= 75
    assert not code.title.endswith(".")
    assert "`" not in code.title


@pytest.mark.parametrize("code", ALL)
def test_nobody_needs_to_know_our_symbols(code: Code) -> None:
    for field in ("title", *SENTENCES, "example", "authority"):
        assert SYMBOLS.findall(getattr(code, field)) == [], field


def test_the_symbols_that_are_searched_for_are_found() -> None:
    assert SYMBOLS.findall("C x r > E x (T + Q), tau, Qe, [S] [I 12]") == ["C", "E", "T", "Q", "tau", "Qe", "[S]", "[I 12]"]


@pytest.mark.parametrize("code", ALL)
def test_an_example_fits_a_terminal(code: Code) -> None:
    assert [line for line in code.example.splitlines() if len(line) > 76] == []


@pytest.mark.parametrize("code", ALL)
def test_an_example_in_a_text_format_is_read_by_its_parser(code: Code) -> None:
    if re.search(r"^(?:max_|batch_|num_|allowed_|pad_|enable_large)", code.example, re.MULTILINE):
        parse_batching(code.example)
    if code.example.startswith("model_config_list"):
        assert [each.name for each in parse_model_config(code.example).models] == ["ranker"]


@pytest.mark.parametrize("code", ALL)
def test_an_example_with_flags_of_the_server_uses_real_ones(code: Code) -> None:
    flags = server_flags(code.example)
    read = parse_flags(flags)
    assert (read.left_over, read.bad, len(read.given)) == ((), (), len(flags))


def test_gcloud_takes_every_command_of_the_examples() -> None:
    examples = [code.example for code in CODES.values()]
    updates, deploys = service_updates(examples), deployments(examples)
    assert len(updates) + len(deploys) == sum("run" in argv for example in examples for argv in commands(example))
    readings = [*parse_updates(updates, GCLOUD_SERVICE), *parse_all(deploys)]
    assert [reading.error for reading in readings if reading.error] == []


@pytest.mark.parametrize("code", ALL)
def test_an_example_is_not_what_its_code_reports(code: Code) -> None:
    if kind_of(code.example) is None:
        assert code.name in {"service-document-invalid", "per-model-batching-incomplete", "model-partial-upload"}
        return
    answer = ask("example", code.example)
    assert code.name not in {finding.code for checked in answer.checked for finding in checked.findings}
