"""Faults planted in copies of the modules, each of which must be seen: by Terraform with the provider's schema, or by the contract.

What Terraform itself refuses is planted one at a time. The others are planted in a few copies together, because a plan costs seconds;
each must be named by a problem of its own, and the plan without them has none.
"""

from collections.abc import Iterable

import pytest

from tests.terraform.contract import problems
from tests.terraform.contract_variables import astray
from tests.terraform.faults import NAMED, REFUSED, Seen
from tests.terraform.faults_meant import MEANT
from tests.terraform.faults_review import AWAY, REVIEWED
from tests.terraform.faults_switches import HALF, UNASKED, UNTOLD
from tests.terraform.plans import TREE, Broken, Edit, Plan, Terraform
from tests.terraform.sample import SWITCHED, VARIABLES
from tests.terraform.sample_off import OFF

SEEN = {**NAMED, **MEANT, **UNASKED, **REVIEWED}
SEEN_OF_SWITCHES = {**HALF, **UNTOLD}
TRIGGER = "modules/function/trigger.tf"


@pytest.mark.parametrize("name", REFUSED)
def test_terraform_refuses(name: str, tf: Terraform) -> None:
    fault = REFUSED[name]
    with pytest.raises(Broken, match=fault.word):
        tf.validate(folder=fault.folder, edits=(fault.edit,))


def test_a_plan_without_a_subscription_of_dead_letters_is_refused(tf: Terraform) -> None:
    whole = 'resource "google_pubsub_subscription" "dead_letters" {\n  for_each = local.triggers'
    missing = whole.replace("local.triggers", '{ for key, each in local.triggers : key => each if var.name != "trimtab-upload" }')
    with pytest.raises(Broken, match="dead_letter_subscriptions"):
        tf.plan(VARIABLES, edits=(Edit(TRIGGER, whole, missing),))


def test_a_door_for_everybody_is_seen_by_the_tests_that_ship(tf: Terraform) -> None:
    """A relaxed validation is in no plan: the tests beside the module try what it refuses."""
    callers = 'var.command_callers : can(regex("^(user|group|serviceAccount|domain|principal|principalSet):'
    opened = Edit("modules/control-plane/variables.tf", callers, 'var.command_callers : can(regex("^')
    with pytest.raises(Broken, match="callers_are_named"):
        tf.test(folder="modules/control-plane", edits=(opened,))


@pytest.fixture(scope="module")
def found(tf: Terraform) -> list[str]:
    """What the contract says of copies with all the faults in them, as many in one as do not touch the same text."""
    return [problem for edits in batches(SEEN.values()) for problem in problems(tf.plan(VARIABLES, edits=edits))]


@pytest.mark.parametrize("name", SEEN)
def test_the_contract_sees(name: str, found: list[str], plan: Plan) -> None:
    assert not any(SEEN[name].problem in each for each in problems(plan))
    assert any(SEEN[name].problem in each for each in found)


@pytest.fixture(scope="module")
def found_of_switches(tf: Terraform) -> list[str]:
    """The same of copies where everything is switched on."""
    copies = [*batches(HALF.values()), *((each.edit,) for each in UNTOLD.values())]
    return [problem for edits in copies for problem in problems(tf.plan(SWITCHED, edits=edits))]


@pytest.mark.parametrize("name", SEEN_OF_SWITCHES)
def test_the_contract_sees_half_a_switch(name: str, found_of_switches: list[str], switched: Plan) -> None:
    wanted = SEEN_OF_SWITCHES[name].problem
    assert not any(wanted in each for each in problems(switched))
    assert any(wanted in each for each in found_of_switches)


@pytest.fixture(scope="module")
def found_away(tf: Terraform, switched: Plan) -> list[str]:
    """What differs in copies where every variable is off its default."""
    return [problem for edits in batches(AWAY.values()) for problem in astray(tf.plan(OFF, edits=edits), switched)]


@pytest.mark.parametrize("name", AWAY)
def test_a_variable_that_does_not_arrive_is_seen(name: str, found_away: list[str]) -> None:
    assert any(AWAY[name].problem in each for each in found_away)


def batches(faults: Iterable[Seen]) -> list[tuple[Edit, ...]]:
    """The faults in as few copies as there can be: no two of a copy change the same text."""
    copies: list[list[Edit]] = []
    for edit in (each.edit for each in faults):
        free = (copy for copy in copies if not any(_touch(edit, other) for other in copy))
        copy = next(free, None)
        if copy is None:
            copies.append([edit])
        else:
            copy.append(edit)
    return [tuple(copy) for copy in copies]


def _touch(one: Edit, other: Edit) -> bool:
    if one.file != other.file:
        return False
    text = (TREE / one.file).read_text()
    first, second = sorted((text.index(each.old), text.index(each.old) + len(each.old)) for each in (one, other))
    return second[0] < first[1]
