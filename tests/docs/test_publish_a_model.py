"""The guide to publishing a model says what the code does."""

import re
from pathlib import Path

from shared.handlers.model import DEBOUNCE_SECONDS
from shared.tfserving.model_files import SETTLE_SECONDS, STALL_SECONDS
from shared.tfserving.model_files_listing import INDEX, MANIFEST, MAX_FILES, SAVED_MODEL, WARM_UP
from shared.tfserving.model_files_manifest import read_manifest

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "publish-a-model.md").read_text()


def test_its_numbers_are_those_of_the_code() -> None:
    assert f"for\n{SETTLE_SECONDS:g} seconds" in GUIDE
    assert f"at most every {DEBOUNCE_SECONDS:g} seconds" in GUIDE
    assert f"for {STALL_SECONDS / 60:g} minutes" in GUIDE
    assert f"at most {MAX_FILES}" in GUIDE


def test_it_names_the_files_as_the_code_does() -> None:
    named = set(re.findall(r"gs://acme-models/ranker/8/(\S+)", GUIDE))
    assert {SAVED_MODEL, INDEX, WARM_UP, MANIFEST} <= named


def test_its_manifest_is_one() -> None:
    (text,) = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    assert [file.path for file in read_manifest(text.encode())] == ["saved_model.pb", "variables/variables.index"]
