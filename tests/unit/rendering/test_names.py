"""A revision's name tells its content."""

import pytest

from shared.rendering.messages import Json, service_to_json
from shared.rendering.names import read_revision_name, revision_name, template_hash
from tests.support.desired import desired, rendered

LONGEST = "a" + "b" * 48


def template(**changes: object) -> Json:
    found: Json = service_to_json(rendered(desired(**changes)))["template"]
    return found


def test_the_same_content_has_the_same_name_and_another_has_another() -> None:
    assert revision_name("ranker", template()) == revision_name("ranker", template())
    assert template_hash(template()) != template_hash(template(cpu="8", memory="32Gi"))


def test_the_name_inside_a_template_is_not_part_of_its_content() -> None:
    assert template_hash({**template(), "revision": "ranker-abcdefghij-1"}) == template_hash(template())


def test_what_means_the_same_has_the_same_name() -> None:
    written = template()
    written["containers"][0]["resources"]["limits"]["memory"] = "16384Mi"
    assert template_hash(written) == template_hash(template())


def test_the_longest_service_name_and_the_last_attempt_fit_cloud_runs_63_characters() -> None:
    assert len(revision_name(LONGEST, template(), 99)) == 63


def test_a_name_of_ours_is_read_back_and_others_are_none() -> None:
    name = revision_name("ranker-2", template(), 12)
    assert read_revision_name(name) == ("ranker-2", template_hash(template()), 12)
    for other in ("ranker-00007-abc", "ranker-abcdefghij-0", "ranker-abcdefghij-100", "-abcdefghij-1", "ranker"):
        assert read_revision_name(other) is None


@pytest.mark.parametrize("attempt", [0, 100])
def test_an_attempt_beyond_99_is_a_persons_business(attempt: int) -> None:
    with pytest.raises(ValueError, match="want 1 to 99"):
        revision_name("ranker", template(), attempt)


def test_a_default_that_is_written_out_does_not_change_the_name() -> None:
    plain = {"containers": [{"image": "app:1"}]}
    assert template_hash({**plain, "timeout": "300s", "maxInstanceRequestConcurrency": 80}) == template_hash(plain)
