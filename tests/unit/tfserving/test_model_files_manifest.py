"""The manifest: its one form, and what is said of others."""

import json

import pytest

from shared.tfserving.model_files_listing import MAX_FILES, MAX_MANIFEST_BYTES
from shared.tfserving.model_files_manifest import ManifestError, ManifestFile, read_manifest


def test_the_example() -> None:
    text = b"""{"files": {"variables/variables.index": {"size": 4794},
                          "saved_model.pb": {"size": 48213004, "crc32c": "yZRlqg==", "md5": "also"},
                          "trimtab-manifest.json": {"size": 1}}, "made_by": "a pipeline"}"""
    assert read_manifest(text) == (
        ManifestFile("saved_model.pb", 48_213_004, "yZRlqg=="),
        ManifestFile("variables/variables.index", 4_794, None),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is no JSON"),
        ("files: {}", "it is no JSON"),
        ('{"files": {"a": {"size": 1}}', "it is no JSON"),
        ("[]", "it has no"),
        ('"files"', "it has no"),
        ("{}", "it has no"),
        ('{"files": []}', "it has no"),
        ('{"files": {}}', "it has no"),
        ('{"files": {"trimtab-manifest.json": {"size": 1}}}', "it has no"),
        ('{"files": {"a": 1}}', '"a" has no "size"'),
        ('{"files": {"a": {}}}', '"a" has no "size"'),
        ('{"files": {"a": {"size": "1"}}}', '"a" has no "size"'),
        ('{"files": {"a": {"size": 1.0}}}', '"a" has no "size"'),
        ('{"files": {"a": {"size": true}}}', '"a" has no "size"'),
        ('{"files": {"a": {"size": -1}}}', '"a" has no "size"'),
        ('{"files": {"a": {"size": 1, "crc32c": 7}}}', 'the "crc32c" of "a" is not base64'),
        ('{"files": {"a": {"size": 1, "crc32c": "c99465aa"}}}', 'the "crc32c" of "a" is not base64'),
        ('{"files": {"../a": {"size": 1}}}', '"../a" is no path'),
        ('{"files": {"/a": {"size": 1}}}', '"/a" is no path'),
        ('{"files": {"a/": {"size": 1}}}', '"a/" is no path'),
        ('{"files": {"\\ud800": {"size": 1}}}', '"\\ud800" is no path'),
        ('{"files": {"a": {"size": 1}, "a": {"size": 2}}}', 'it says "a" twice'),
        pytest.param("[" * 100_000, "it is nested too deep", id="deep"),
    ],
)
def test_no_manifest(text: str, why: str) -> None:
    with pytest.raises(ManifestError) as error:
        read_manifest(text.encode())
    assert str(error.value).startswith(why)


def test_no_text() -> None:
    with pytest.raises(ManifestError, match="it is no JSON"):
        read_manifest(b"\xff\xfe{")


def test_too_many_files_and_too_many_bytes() -> None:
    with pytest.raises(ManifestError, match=f"names {MAX_FILES + 1} files"):
        read_manifest(json.dumps({"files": {f"{at}": {"size": 1} for at in range(MAX_FILES + 1)}}).encode())
    with pytest.raises(ManifestError, match=f"it has {MAX_MANIFEST_BYTES + 1} bytes"):
        read_manifest(b" " * (MAX_MANIFEST_BYTES + 1))
