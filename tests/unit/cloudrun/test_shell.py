"""Pasted text is split into commands as a shell does, and never run."""

import pytest

from shared.cloudrun.shell import shell_commands
from shared.cloudrun.shell_variables import UNKNOWN


def words(text: str) -> list[list[str]]:
    return [command.words for command in shell_commands(text)]


def only(text: str) -> list[str]:
    commands = words(text)
    assert len(commands) == 1
    return commands[0]


@pytest.mark.parametrize(
    "line",
    [
        "gcloud run deploy x",
        "$ gcloud run deploy x",
        "sudo gcloud run deploy x",
        "sudo -E gcloud run deploy x",
        "anna@host:~$ gcloud run deploy x",
        "CLOUDSDK_CORE_DISABLE_PROMPTS=1 gcloud run deploy x",
        "/usr/lib/google-cloud-sdk/bin/gcloud run deploy x",
        "cd app && gcloud run deploy x",
        "cd app; gcloud run deploy x # as on Monday",
        "if true; then gcloud run deploy x; fi",
        "- run: gcloud run deploy x",
        "Then run `gcloud run deploy x` again.",
        "gcloud run deploy x > log.txt 2>&1",
        "gcloud run deploy x | tee log.txt",
        "gcloud run \\\n  deploy x",
        "gcloud run \\\r\n  deploy x\r\n",
        "gcloud run `\n  deploy x",
        "gcloud run ^\n  deploy x",
        "gcloud\u00a0run deploy x",
        "```sh\ngcloud run deploy x\n```",
    ],
)
def test_a_command_is_found_where_people_paste_it(line: str) -> None:
    assert only(line) == ["gcloud", "run", "deploy", "x"]


@pytest.mark.parametrize(
    "text",
    [
        "# gcloud run deploy x",
        "cat > deploy.sh <<EOF\ngcloud run deploy x\nEOF",
        "cat <<-'EOF' > deploy.sh\n\tgcloud run deploy x\n\tEOF\n",
        "echo gcloud run deploy x",
        "the docker image of gcloud",
        "apiVersion: serving.knative.dev/v1\nmetadata:\n  name: gcloud\n",
    ],
)
def test_what_only_speaks_of_a_command_is_none(text: str) -> None:
    assert words(text) == []


def test_quotes_are_taken_away_and_what_they_hold_stays_one_word() -> None:
    assert only("""gcloud 'a b' "c \\" d" e\\ f 'it'"'"'s' """) == ["gcloud", "a b", 'c " d', "e f", "it's"]


def test_a_text_in_quotes_may_go_on_in_the_next_line() -> None:
    assert only('gcloud run deploy x --set-env-vars="A=1\nB"') == ["gcloud", "run", "deploy", "x", "--set-env-vars=A=1\nB"]


def test_every_word_knows_its_line() -> None:
    command = shell_commands("# first\ngcloud run \\\n  deploy 'a\nb' \\\n  --cpu=4\n")[0]
    assert command.words == ["gcloud", "run", "deploy", "a\nb", "--cpu=4"]
    assert command.lines == [2, 2, 3, 3, 5]


def test_a_variable_that_the_script_sets_is_replaced() -> None:
    text = "export REGION=us-east4\nNAME='rank er'\ngcloud run deploy \"${NAME}\" --region=$REGION"
    assert only(text) == ["gcloud", "run", "deploy", "rank er", "--region=us-east4"]


def test_a_variable_without_quotes_gives_a_word_for_each_of_its_parts_and_an_array_for_each_item() -> None:
    text = 'FLAGS="--cpu=4 --memory=16Gi"\nMORE=(--port=8500 "--description=a b")\ngcloud $FLAGS "${MORE[@]}"'
    assert only(text) == ["gcloud", "--cpu=4", "--memory=16Gi", "--port=8500", "--description=a b"]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("$C", "$C"),
        ('"$C"', "$C"),
        ("${C}", "${C}"),
        ("$(nproc)", "$(nproc)"),
        ("`nproc`", "`nproc`"),
        ("<CONCURRENCY>", "<CONCURRENCY>"),
        ("${{ vars.C }}", "${{ vars.C }}"),
    ],
)
def test_a_value_that_nobody_gave_is_marked(written: str, kept: str) -> None:
    assert only(f"gcloud --concurrency={written}") == ["gcloud", f"--concurrency={UNKNOWN}{kept}"]


def test_a_default_is_used_for_a_variable_that_nobody_set() -> None:
    assert only("gcloud --concurrency=${C:-80}") == ["gcloud", "--concurrency=80"]


def test_single_quotes_keep_a_dollar() -> None:
    assert only("gcloud '--set-env-vars=A=$B'") == ["gcloud", "--set-env-vars=A=$B"]


def test_prose_with_an_apostrophe_swallows_no_command() -> None:
    assert words("Don't forget:\ngcloud run deploy x\nand it's done.\n") == [["gcloud", "run", "deploy", "x"]]


def test_a_quote_that_is_never_closed_is_a_fault_with_its_line() -> None:
    command = shell_commands('gcloud run deploy x \\\n  --set-env-vars="A=1\n')[0]
    assert command.unclosed
    assert [(fault.message, line) for fault, line in command.faults] == [
        ('the " on this line is never closed, so the shell does not run the command', 2)
    ]


def test_a_blank_behind_the_backslash_is_a_fault_and_the_line_is_read_on() -> None:
    command = shell_commands("gcloud run deploy x \\ \n  --cpu=4\n")[0]
    assert command.words[-1] == "--cpu=4"
    assert [(fault.fix, line) for fault, line in command.faults] == [("remove the blanks behind the backslash", 1)]


def test_flags_behind_a_missing_backslash_or_a_comment_belong_to_the_command_and_are_a_fault() -> None:
    for text in ("gcloud run deploy x\n  --cpu=4\n", "gcloud run deploy x \\\n  # cores\n  --cpu=4\n"):
        command = shell_commands(text)[0]
        assert command.words[-1] == "--cpu=4"
        assert [line for _, line in command.faults] == [text.count("\n")]


def test_flags_behind_a_sentence_are_nobodys() -> None:
    command = shell_commands("gcloud run deploy x\nThe server has these flags:\n--port=8500\n")[0]
    assert command.words == ["gcloud", "run", "deploy", "x"]
    assert command.faults == []


def test_a_delimiter_that_the_shell_takes_for_itself_is_a_fault_and_the_list_is_read_as_meant() -> None:
    command = shell_commands("gcloud run deploy x --args=^;^--a=1,2;--b=3 --cpu=4")[0]
    assert command.words[-2:] == ["--args=^;^--a=1,2;--b=3", "--cpu=4"]
    assert [(fault.flag, fault.fix) for fault, _ in command.faults] == [("--args", "--args='^;^--a=1,2;--b=3'")]
