"""On which line each field of a healthy file stands."""

import pytest

from shared.tfserving.batching import parse_batching
from shared.tfserving.descriptors import new_message
from shared.tfserving.field_lines import field_lines
from shared.tfserving.model_config import parse_model_config


def of_models(text: str) -> dict[str, int]:
    parse_model_config(text)
    return field_lines(text, new_message("ModelServerConfig").DESCRIPTOR)


def of_batching(text: str) -> dict[str, int]:
    parse_batching(text)
    return field_lines(text, new_message("BatchingParameters").DESCRIPTOR)


def test_an_empty_file_has_no_lines() -> None:
    assert of_batching("") == {}
    assert of_batching("# max_batch_size { value: 1 }\n\n") == {}


def test_a_repeated_field_has_a_line_for_each_value_and_that_of_the_first_for_its_name() -> None:
    text = "allowed_batch_sizes: 1\nallowed_batch_sizes: [2,\n  4], allowed_batch_sizes: []\n\nallowed_batch_sizes: 8\n"
    assert of_batching(text) == {
        "allowed_batch_sizes": 1,
        "allowed_batch_sizes[0]": 1,
        "allowed_batch_sizes[1]": 2,
        "allowed_batch_sizes[2]": 3,
        "allowed_batch_sizes[3]": 5,
    }


@pytest.mark.parametrize("wrapper", ["{ value: 8 }", "<\tvalue # } num_batch_threads\n: 8; >;", ": { value : 8 , } ,"])
def test_what_stands_inside_a_wrapper_has_no_line_of_its_own(wrapper: str) -> None:
    text = f"max_batch_size {wrapper} num_batch_threads < value: 2 >"
    assert of_batching(text) == {"max_batch_size": 1, "num_batch_threads": 1 + wrapper.count("\n")}


def test_braces_in_texts_and_comments_are_none() -> None:
    text = "thread_pool_name { value: \"}\" '{' }  # {\nmax_batch_size { value: 8 # }\n}\nnum_batch_threads { value: 2 }"
    assert of_batching(text) == {"thread_pool_name": 1, "max_batch_size": 2, "num_batch_threads": 4}


def test_models_in_blocks_and_in_a_list_are_counted_together() -> None:
    text = """\
model_config_list: {
  config [ { name: "a" base_path: "/a" },  # the first
  < name: "b" "c"
    'd' base_path: "/b"
    model_version_policy: <specific {versions: [1, 2,
      3] versions: 4}>
    version_labels [ {key: "x" value: 1},
      {key: "y" value: 2} ] > ];
  config { name: "z", model_version_policy { all { } } }
}
"""
    assert of_models(text) == {
        "model_config_list": 1,
        "": 1,
        "config": 2,
        "config[0]": 2,
        "config[0].name": 2,
        "config[0].base_path": 2,
        "config[1]": 3,
        "config[1].name": 3,
        "config[1].base_path": 4,
        "config[1].model_version_policy": 5,
        "config[1].model_version_policy.specific": 5,
        "config[1].model_version_policy.specific.versions": 5,
        "config[1].model_version_policy.specific.versions[0]": 5,
        "config[1].model_version_policy.specific.versions[1]": 5,
        "config[1].model_version_policy.specific.versions[2]": 6,
        "config[1].model_version_policy.specific.versions[3]": 6,
        "config[1].version_labels": 7,
        "config[1].version_labels.key": 7,
        "config[1].version_labels.value": 7,
        "config[2]": 9,
        "config[2].name": 9,
        "config[2].model_version_policy": 9,
        "config[2].model_version_policy.all": 9,
    }


@pytest.mark.parametrize(
    "inside",
    [
        '[type.googleapis.com/tensorflow.serving.BatchingParameters] { max_batch_size { value: 3 } # }\n thread_pool_name < value: "}" > }',
        'type_url: "type.googleapis.com/tensorflow.serving.BatchingParameters" # }\n value: "}\\x00"',
    ],
)
def test_a_message_of_any_kind_is_not_looked_into(inside: str) -> None:
    assert of_models(f"\ncustom_model_config {{ {inside} }}\n") == {"custom_model_config": 2}
