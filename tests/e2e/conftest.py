"""One deployment for all end-to-end tests; where one fails, the logs of the functions are shown with it."""

from collections.abc import Generator, Iterator

import pytest

from tests.support.processes import Deployment, Emulators, deployed

_running: list[Deployment] = []


@pytest.fixture(scope="session")
def deployment(firestore_emulator: str, pubsub_emulator: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The six functions as processes, between the emulators, a simulated Cloud Run and a simulated Cloud Storage."""
    with deployed(Emulators(firestore_emulator, pubsub_emulator), tmp_path_factory.mktemp("functions")) as running:
        _running.append(running)
        yield running
        _running.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for running in _running:
            report.sections += [(f"log of {function.name}", function.log_tail()) for function in running.functions.values()]
    return report
