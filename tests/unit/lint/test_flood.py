"""Findings of one code without end: fifty are shown, the rest is counted."""

from shared.lint.finding import Finding, Where
from shared.lint.flood import limited


def several(count: int, code: str = "server-flag-invalid", *, first_line: int = 1) -> list[Finding]:
    return [
        Finding(code, f"--flag_{number}: there is no such flag", Where("flags", "flags.txt", first_line + number, f"--flag_{number}"), "-")
        for number in range(count)
    ]


def test_nothing_has_no_findings() -> None:
    assert limited(()) == ()


def test_fifty_of_a_code_are_all_shown() -> None:
    findings = several(50)
    assert limited(findings) == tuple(findings)


def test_one_more_than_fifty_is_shown_too() -> None:
    findings = [*several(51), *several(60, "gcloud-unknown-flag")]
    assert limited(findings)[:51] == tuple(findings[:51])


def test_of_two_thousand_fifty_are_shown_and_the_rest_is_counted_at_its_first_place() -> None:
    findings = several(2_000)
    *shown, rest = limited(findings)
    assert shown == findings[:50]
    assert (rest.code, rest.where) == ("server-flag-invalid", findings[50].where)
    assert rest.message == "1,950 more findings of server-flag-invalid are left out, the last in line 2,000: 50 are shown"
    assert rest.fix == "put the 50 that are shown right, or what wrote the text, and check it again"


def test_a_finding_that_comes_again_is_shown_once_and_counted_once() -> None:
    findings = several(120)
    shown = limited(iter([*findings, *findings]))
    assert shown == limited(findings)
    assert shown[-1].message.startswith("70 more findings")
    assert limited([findings[0], findings[1], findings[0]]) == (findings[0], findings[1])


def test_no_line_is_named_where_all_have_the_same() -> None:
    findings = [Finding(each.code, each.message, Where("deploy", "deploy.sh", 1), "-") for each in several(52)]
    assert limited(findings)[-1].message == "2 more findings of server-flag-invalid are left out: 50 are shown"


def test_each_code_is_counted_by_itself_and_the_order_stays() -> None:
    many, few = several(70), several(3, "model-partial-upload")
    mixed = [few[0], *many[:60], few[1], *many[60:], few[2]]
    shown = limited(mixed)
    assert len(shown) == 54
    assert (shown[0], shown[52], shown[53]) == tuple(few)
    assert shown[51].message.startswith("20 more findings")


def test_what_was_limited_stays_as_it_is() -> None:
    once = limited([*several(70), *several(400, "model-partial-upload")])
    assert limited(once) == once
