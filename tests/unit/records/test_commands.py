"""Commands as records: their schema, what a merge patch makes, and the subject of a model."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.records.command_schema import command_schema
from shared.records.commands import COMMANDS, DELETE_WORDS, DeleteCommand, merge_patch
from shared.records.model_subject import ModelSubject
from shared.records.spec_schema import json_schema

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def test_the_schema_describes_every_command_and_every_field() -> None:
    schema = command_schema()
    for name, model in COMMANDS.items():
        definition = schema["$defs"][model.__name__]
        assert definition["additionalProperties"] is False
        assert definition["properties"]["command"]["const"] == name
        assert set(definition["properties"]) == set(model.model_fields)
        assert all(field["description"] for field in definition["properties"].values())


def test_the_schema_describes_the_values_and_has_nothing_undescribed() -> None:
    definitions = command_schema()["$defs"]
    assert "pin: The fields keep" in definitions["HoldKind"]["description"]
    assert [name for name, definition in definitions.items() if not definition.get("description")] == []


def test_a_spec_in_a_command_is_the_spec_of_the_file() -> None:
    assert command_schema()["$defs"]["ServiceSpec"] == json_schema()["$defs"]["ServiceSpec"]


def test_the_words_that_delete_stand_in_the_schema() -> None:
    field = command_schema()["$defs"][DeleteCommand.__name__]["properties"]["delete_cloud_run_service"]
    assert {"const": DELETE_WORDS, "type": "string"} in field["anyOf"]


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": "foo"}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
        (["a"], {"b": 1}, {"b": 1}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ],
)
def test_a_merge_patch_does_what_rfc_7396_says(target: Any, patch: Any, merged: Any) -> None:
    assert merge_patch(target, patch) == merged


@given(target=VALUES, patch=VALUES)
def test_a_merge_patch_twice_is_a_merge_patch_once_and_changes_neither(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once
    assert (target, patch) == before


def test_the_uri_of_a_spec_and_the_objects_below_it_are_one_model() -> None:
    subject = ModelSubject.of_object("northwind-models", "vision/classify/12/variables/variables.index")
    assert subject == ModelSubject(uri="gs://northwind-models/vision/classify")
    assert subject is not None
    assert subject.id == "0c2eaba67dc75a2e043f"
