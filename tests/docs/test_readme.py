"""The documents do not lie: the README's commands run, links lead somewhere, the generated pages are fresh."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shared.records.plan import DenialCode

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"<!-- run(?P<background>: background)? -->\n```sh\n(?P<command>.*?)\n```", re.DOTALL)
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    msg = f"nothing listens on {port}"
    raise TimeoutError(msg)


def commands(port: int) -> list[tuple[bool, str]]:
    """The README's commands in order; the port and the virtual environment are this run's."""
    text = (ROOT / "README.md").read_text()
    here = str(Path(sys.executable).parent)
    return [(bool(m["background"]), m["command"].replace("8080", str(port)).replace(".venv/bin", here)) for m in BLOCK.finditer(text)]


def test_the_commands_of_the_readme_run_and_do_what_it_says() -> None:
    port = free_port()
    background: list[subprocess.Popen[str]] = []
    answers: list[str] = []
    try:
        for runs_on, command in commands(port):
            if runs_on:
                process = subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
                background.append(process)
                wait_for(port)
            else:
                done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
                answers.append(done.stdout)
    finally:
        for process in background:
            process.send_signal(signal.SIGINT)
        logs = [process.communicate(timeout=30)[0] for process in background]
    assert "acme-ml:europe-west1:ranker, key 0.example1:open, signal no-instance" in answers[0]
    assert answers[1] == "done\n"
    assert answers[2].startswith("acme-ml:europe-west1:ranker: nothing differs")
    assert 'service_account_email = "ranker@acme-ml.iam.gserviceaccount.com"' in answers[3]
    assert any("raise scaling.max_instance_count from 4 to 8" in log for log in logs)
    assert [process.returncode for process in background] == [0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_row_stands_in_a_table(page: Path) -> None:
    # A blank line inside a table makes the rest of it plain text.
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert [block.splitlines()[0] for block in blocks if not re.match(r"\|.*\n\|[-:| ]+\|\n", block)] == []


def test_the_generated_pages_are_fresh() -> None:
    done = subprocess.run([sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_the_operations_page_names_only_denials_that_exist() -> None:
    rows = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", (ROOT / "docs" / "operations.md").read_text(), re.MULTILINE)
    named = {code for row in rows for code in re.findall(r"`([a-z-]+)`", row)}
    assert named
    assert named <= {code.value for code in DenialCode}


def test_every_target_of_the_readme_is_in_the_makefile() -> None:
    used = set(re.findall(r"`make ([a-z-]+)`", (ROOT / "README.md").read_text()))
    makefile = (ROOT / "Makefile").read_text()
    assert used
    assert [target for target in used if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_each_dependency_says_why_it_is_there() -> None:
    block = (ROOT / "pyproject.toml").read_text().split("\ndependencies = [")[1].split("[project.scripts]")[0]
    lines = [line for line in block.splitlines() if line.strip().startswith('"') and "trimtab[cli]" not in line]
    assert lines
    assert [line for line in lines if "#" not in line] == []


def test_the_environment_is_made_of_hashed_pins_only() -> None:
    for name in ("dev.txt", "functions.txt", "bench-tf.txt"):
        text = (ROOT / "requirements" / name).read_text()
        pins = re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE)
        assert pins
        assert text.count("--hash=sha256:") >= len(pins)
        assert not re.search(r"https?://|--index-url|--find-links", text)
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
