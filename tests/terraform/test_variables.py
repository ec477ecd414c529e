"""Every variable of the root arrives where it should, and nothing of the plan is what only a default or one sample says.

The root is planned with all variables off their defaults. What arrives is looked at and put back; what is then left must be the plan
of the other sample, resource by resource.
"""

import json
import re

import pytest

from tests.terraform import sample_off as off
from tests.terraform.contract_variables import differing, in_words_of_the_other, not_arrived, put_back, unlabelled, unwanted, values_of
from tests.terraform.plans import TREE, Plan, Terraform


@pytest.fixture(scope="module")
def away(tf: Terraform) -> Plan:
    return tf.plan(off.OFF)


def test_every_variable_of_the_root_is_off_its_default(plan: Plan) -> None:
    declared = set(plan.module()["variables"])
    told_of = [set(off.ARRIVES), off.BY_A_WORD, off.OF_THE_OTHER_SAMPLE, off.LABELS, off.TAKEN_AWAY, off.CHANGES_NOTHING]
    assert sum(map(len, told_of)) == len(set().union(*told_of))
    assert set().union(*told_of) == declared == set(off.OFF)
    defaults = {name: said["default"] for name, said in plan.module()["variables"].items() if "default" in said}
    same = {name for name, default in defaults.items() if off.OFF[name] == default and off.LESS.get(name) == default}
    assert same == set()


@pytest.mark.parametrize("name", off.ARRIVES)
def test_a_variable_arrives(name: str, away: Plan) -> None:
    assert list(not_arrived(off.ARRIVES[name], away)) == []


def test_nothing_else_is_another_than_in_the_plan_of_the_other_sample(away: Plan, switched: Plan) -> None:
    assert list(differing(put_back(away), values_of(switched, off.ONLY_THERE))) == []


def test_a_model_has_no_alert_that_it_does_without(away: Plan) -> None:
    assert list(unwanted(away)) == []


def test_outputs_are_named_by_what_is_given(away: Plan, switched: Plan) -> None:
    here, there = (json.dumps(each.document["output_changes"], sort_keys=True) for each in (away, switched))
    assert json.loads(in_words_of_the_other(here)) == json.loads(there)


def test_labels_are_on_everything_that_takes_them(away: Plan) -> None:
    assert list(unlabelled(away)) == []


def test_what_is_not_asked_for_is_not_made_and_nothing_else_goes_with_it(tf: Terraform) -> None:
    less, few = tf.plan(off.LESS), tf.plan(off.FEW)
    here, there = values_of(less), values_of(few)
    taken = {each.address for each in few.resources if each.kind in off.TAKEN}
    assert {each.kind for each in less.resources} & off.TAKEN == set()
    assert {each.kind for each in few.resources} >= off.TAKEN
    assert list(differing(here, {address: values for address, values in there.items() if address not in taken})) == []


def test_a_number_that_is_looked_up_is_the_number() -> None:
    """No plan without an account can ask for it."""
    asked = [
        found for path in TREE.rglob("*.tf") for found in re.findall(r"data\.google_project\.\w+(?:\[[^\]]*\])?\.(\w+)", path.read_text())
    ]
    assert asked
    assert set(asked) == {"number"}
