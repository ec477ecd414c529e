"""The table of gcloud's flags is that of gcloud's own parser."""

from typing import Any

from shared.cloudrun.gcloud_flags import EXCLUSIVE, FLAGS, Command, GcloudFlag, Kind, Place, Repeat, find_flag
from tests.support.gcloud_parser import flag_tables

_TRACKS = {"g": [], "b": ["beta"], "a": ["alpha"]}
_PATHS: dict[Command, list[str]] = {"deploy": ["run", "deploy"], "update": ["run", "services", "update"]}
_LISTS = {Kind.LIST, Kind.ENV_NAMES, Kind.CONTAINER_NAMES}
_FILES = {"ArgDictFile", "ArgDictWithYAMLOrEnv"}
_REPEATS = {"UpdateAction": Repeat.MERGE, "_AppendAction": Repeat.EACH, "StoreOnceAction": Repeat.ONCE}


def names(flag: GcloudFlag) -> list[str]:
    return [f"--{flag.name}", f"--no-{flag.name}"] if flag.kind is Kind.SWITCH else [f"--{flag.name}"]


def tables() -> dict[tuple[Command, str], dict[str, Any]]:
    keys = [(command, letter) for command in _PATHS for letter in _TRACKS]
    found = flag_tables([[*_TRACKS[letter], *_PATHS[command]] for command, letter in keys])
    return dict(zip(keys, found, strict=True))


def test_every_flag_of_every_track_is_in_the_table_and_no_other() -> None:
    for (command, letter), table in tables().items():
        known = {name for flag in FLAGS.values() if letter in flag.tracks(command) for name in names(flag)}
        assert {name for name in table["flags"] if name.startswith("--") and not name.startswith("---")} == known, (command, letter)


def test_the_kind_of_each_value_and_its_choices_are_those_of_the_parser() -> None:
    for (command, letter), table in tables().items():
        for flag in FLAGS.values():
            if letter not in flag.tracks(command):
                continue
            true = table["flags"][f"--{flag.name}"]
            assert true["value"] == flag.has_value, flag.name
            assert true["choices"] == sorted(flag.choices), flag.name
            assert (true["type"] == "ArgList") == (flag.kind in _LISTS), flag.name
            assert (true["type"] in _FILES) == (flag.kind is Kind.FILE), flag.name
            if flag.has_value:
                assert flag.repeat == _REPEATS.get(true["action"], Repeat.LAST), flag.name


def test_what_excludes_each_other_does_so_in_the_parser_and_nothing_else_does() -> None:
    known = {tuple(tuple(f"--{name}" for name in part) for part in group) for group in EXCLUSIVE}
    true: set[frozenset[tuple[str, ...]]] = set()
    for table in tables().values():
        true |= {frozenset(tuple(part) for part in group) for group in table["groups"]}
    assert {frozenset(group) for group in known} == true


def test_a_flag_of_a_container_is_told_from_one_of_the_service() -> None:
    assert [FLAGS[name].place for name in ("cpu", "region", "project")] == [Place.CONTAINER, Place.SERVICE, Place.EVERYWHERE]


def test_a_switch_is_found_by_both_its_names_and_an_abbreviation_by_none() -> None:
    assert find_flag("--no-cpu-throttling") == (FLAGS["cpu-throttling"], False)
    assert find_flag("-q") == (FLAGS["quiet"], True)
    assert find_flag("--concur") is None
    assert find_flag("--no-concurrency") is None
    assert find_flag("concurrency") is None
