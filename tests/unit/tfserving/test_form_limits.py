"""How far a file full of mistakes is read."""

import pytest

from shared.tfserving.batching_reading import read_batching_file
from shared.tfserving.form_nodes import MAX_PROBLEMS
from shared.tfserving.models_reading import read_models_file


def models(count: int, entry: str = 'config {{ name = "m{0}" base_path = "/m{0}" }}') -> str:
    return "model_config_list {\n" + "".join(f"  {entry.format(number)}\n" for number in range(count)) + "}\n"


def test_mistakes_that_are_certain_are_all_put_right_and_a_hundred_reported() -> None:
    reading = read_models_file(models(400))
    assert len(reading.problems) == MAX_PROBLEMS
    assert reading.meant is not None
    assert len(reading.meant.models) == 400
    assert reading.repaired is not None
    assert reading.repaired.count("config {") == 400


def test_ten_thousand_certain_mistakes_are_no_file_of_this_kind() -> None:
    reading = read_batching_file("allowed_batch_sizes=1\n" * 11_000)
    assert len(reading.problems) == MAX_PROBLEMS
    assert (reading.meant, reading.repaired) == (None, None)


def test_a_file_with_one_unclear_mistake_among_few_is_read_to_its_end() -> None:
    reading = read_models_file(models(40) + "%%\n" + 'model_config_list { config { name: "last" base_path: "/last" } }\n')
    assert reading.meant is not None
    assert reading.meant.models[-1].name == "last"
    assert reading.repaired is None


def test_a_file_with_an_unclear_mistake_among_more_than_a_hundred_means_nothing() -> None:
    reading = read_models_file("%%\n" + models(400))
    assert len(reading.problems) == MAX_PROBLEMS
    assert (reading.meant, reading.repaired) == (None, None)


@pytest.mark.parametrize("prose", ["and\n", "so it goes on.\n", "a:\n", "“ ", "max_batch_size { "])
def test_prose_without_end_means_nothing(prose: str) -> None:
    reading = read_batching_file(prose * 3_000)
    assert reading.problems
    assert (reading.meant, reading.repaired) == (None, None)


def test_one_mistake_made_everywhere_is_reported_once_and_put_right() -> None:
    for text in (
        "\u00a0#\n" * 30_000 + "max_batch_size { value: 8 }",
        "//\n#\n" * 30_000 + "max_batch_size { value: 8 }",
        "pad_variable_length_inputs: true" + ";" * 30_000,
    ):
        reading = read_batching_file(text)
        assert len(reading.problems) == 1
        assert reading.repaired is not None
        assert reading.meant is not None


def test_comments_keep_their_places_when_a_file_is_put_right() -> None:
    text = (
        "# first # second\n\n#\n  // third // fourth\nmax_batch_size: 8  // fifth  \n# sixth\n# seventh\n//\n"
        "allowed_batch_sizes: [1,  # eighth\n  8]\n# last"
    )
    assert read_batching_file(text).repaired == (
        "# first # second\n#\n# third // fourth\nmax_batch_size { value: 8 }  # fifth\n# sixth\n# seventh\n#\n"
        "allowed_batch_sizes: 1  # eighth\nallowed_batch_sizes: 8\n# last\n"
    )
