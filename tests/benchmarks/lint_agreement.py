"""Thousands of mutants of healthy configurations: lint's word against that of the tools and services that would refuse them."""

from tests.benchmarks.table import Area, Row, at_most
from tests.support import gcloud_parser
from tests.support.lint_healthy import Form
from tests.support.lint_mutants import mutants
from tests.support.lint_trial import FALSE_ERRORS, RECALL, Tally, Tried, together, trial

SEED = 20_261_201
NEEDS_GCLOUD = (Form.DEPLOY, Form.UPDATE, Form.V1)
SHOWN = 12

HOW = (
    "{count:,} mutants: healthy commands, documents and files with one to three random edits (words, values, fields, characters, lines), "
    "made without a look at lint's rules. The judges: the installed gcloud's own parser and its reading of v1 files, then the simulated "
    "Cloud Run's request validation; protobuf's JSON format and the same validation for v2; protobuf's text format for TF Serving's files. "
    "Recall is the share of refused mutants in which lint finds an error; {unreadable:,} of them it could not read as anything, which it "
    "says. A false error is an error of a code that the judge could contradict, in a mutant that the judge accepts. Mutants that mean what "
    "the healthy text means, and those on which the judge is silent, are in neither number. {gcloud}"
)


def measure(*, count: int = 6_000) -> Area:
    forms = tuple(form for form in Form if gcloud_parser.installed() or form not in NEEDS_GCLOUD)
    tallies = trial(mutants(SEED, count, forms))
    whole = together(tallies.values())
    gcloud = "" if len(forms) == len(Form) else "gcloud is not installed: commands and v1 documents are left out."
    rows = (
        Row("refused mutants", f"{whole.refused:,}", ">= 1,000", whole.refused >= 1_000),
        Row("recall, all", f"{whole.recall:.4f}", f">= {RECALL}", whole.recall >= RECALL),
        at_most(f"false errors, all ({whole.accepted:,} accepted)", whole.false_errors, FALSE_ERRORS, digits=4),
        *(Row(f"{form}", _counted(tally)) for form, tally in tallies.items()),
    )
    for title, found in (("not found by lint", whole.missed), ("contradicted", whole.contradicted)):
        _show(title, found)
    return Area("Lint: agreement with the judges", HOW.format(count=count, unreadable=whole.unreadable, gcloud=gcloud).strip(), rows)


def _counted(tally: Tally) -> str:
    return (
        f"{tally.refused:,} refused: recall {tally.recall:.4f}; {tally.accepted:,} accepted: false errors {tally.false_errors:.4f}; "
        f"{tally.same:,} the same, {tally.silent:,} without a verdict"
    )


def _show(title: str, found: list[Tried]) -> None:
    for each in found[:SHOWN]:
        print(f"{title}: {each}\n")
    if len(found) > SHOWN:
        print(f"{title}: {len(found) - SHOWN} more\n")
