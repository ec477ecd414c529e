"""The reference pages of lint codes, causes and remedies: every name is there, and every link leads to a heading."""

import re
from pathlib import Path

import pytest

from shared.diagnose.cause_catalog import CAUSES
from shared.diagnose.remedy_catalog import REMEDIES
from shared.lint.catalog import CODES

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def headings(page: str) -> list[str]:
    text = (REFERENCE / page).read_text()
    return re.findall(r"^### (\S+)$", text, re.MULTILINE)


@pytest.mark.parametrize(("page", "names"), [("lint.md", CODES), ("causes.md", CAUSES), ("remedies.md", REMEDIES)])
def test_each_name_has_a_heading_that_can_be_linked_to(page: str, names: dict[str, object]) -> None:
    assert headings(page) == list(names)


@pytest.mark.parametrize("page", ["lint.md", "causes.md", "remedies.md"])
def test_links_lead_to_headings(page: str) -> None:
    links = re.findall(r"\]\(([a-z]*(?:\.md)?)#([^)]+)\)", (REFERENCE / page).read_text())
    assert [(target, anchor) for target, anchor in links if anchor not in headings(target or page)] == []


@pytest.mark.parametrize("page", ["lint.md", "causes.md", "remedies.md"])
def test_what_is_to_be_pasted_is_kept_as_it_is(page: str) -> None:
    text = (REFERENCE / page).read_text()
    assert text.count("```") % 2 == 0
    # Outside of code Markdown would take <name> for HTML and hide it.
    assert re.findall(r"<(?!!--)[a-z]+>", re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)) == []
