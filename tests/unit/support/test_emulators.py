"""The emulator fixtures skip where nothing is installed, and fail where something is installed and does not work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import emulators


def no_roots() -> Iterator[Path]:
    return iter(())


def test_without_a_jar_the_tests_skip_and_say_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FIRESTORE_EMULATOR_JAR", raising=False)
    monkeypatch.setattr(emulators, "_sdk_roots", no_roots)
    with (
        pytest.raises(pytest.skip.Exception, match=r"FIRESTORE_EMULATOR_JAR.*gcloud components install cloud-firestore-emulator"),
        emulators.running(emulators.FIRESTORE, print),
    ):
        pass


def test_without_java_the_tests_skip_and_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_JAR", str(tmp_path / "emulator.jar"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="needs Java 17"), emulators.running(emulators.PUBSUB, print):
        pass


def test_a_jar_below_the_sdk_of_gcloud_on_the_path_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PUBSUB_EMULATOR_JAR", raising=False)
    jar = tmp_path / "sdk/platform/pubsub-emulator/lib/cloud-pubsub-emulator-9.9.9-all.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    monkeypatch.setattr(emulators, "_sdk_roots", lambda: iter([tmp_path / "nothing", tmp_path / "sdk"]))
    assert emulators.PUBSUB.jar() == jar


def test_a_jar_that_does_not_start_is_an_error_with_its_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken, java = tmp_path / "emulator.jar", tmp_path / "java"
    java.write_text("#!/bin/sh\necho no main manifest attribute\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("PUBSUB_EMULATOR_JAR", str(broken))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def never(host: str) -> None:
        raise ConnectionRefusedError(host)

    with (
        pytest.raises(RuntimeError, match=r"(?s)did not start.*no main manifest attribute") as raised,
        emulators.running(emulators.PUBSUB, never),
    ):
        pass
    assert "exit 1" in str(raised.value)
