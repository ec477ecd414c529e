"""Random edits that any text can have."""

from random import Random

VALUES = (
    "",
    "0",
    "-1",
    "1",
    "3",
    "4.0",
    "1e3",
    "0x10",
    "1_000",
    "abc",
    "true",
    "False",
    "yes",
    "null",
    "default",
    "16Gi",
    "500m",
    "99999",
    "9223372036854775808",
    "1,2",
    "10s",
    "5m",
    "a b",
    "a=b",
    "gen1",
    "8080",
    "65536",
    "nvidia-t4",
    "./file.yaml",
    "[]",
    "${X}",
)
"""What may stand where another value stood."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz-_"


def misspelt(random: Random, word: str) -> str:
    """The word with one letter lost, doubled, changed, or exchanged with the next."""
    if not word:
        return "x"
    at = random.randrange(len(word))
    return random.choice(
        (
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + random.choice(_LETTERS) + word[at + 1 :],
            word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
        )
    )


def edited_characters(random: Random, text: str, alphabet: str) -> tuple[str, str]:
    """The text with a character lost, put in or replaced, and what was done."""
    at = random.randrange(len(text))
    char = random.choice(alphabet)
    how = random.randrange(3)
    if how == 0:
        return text[:at] + text[at + 1 :], f"without {text[at]!r} at {at}"
    if how == 1:
        return text[:at] + char + text[at:], f"{char!r} put in at {at}"
    return text[:at] + char + text[at + 1 :], f"{char!r} for {text[at]!r} at {at}"


def edited_lines(random: Random, text: str) -> tuple[str, str]:
    """The text with a line lost, doubled, moved, cut, or otherwise indented, and what was done."""
    lines = text.split("\n")
    at = random.randrange(len(lines))
    line = lines[at]
    how = random.choice(("lost", "doubled", "moved", "cut", "in", "out", "tab", "end"))
    if how == "lost":
        del lines[at]
    elif how == "doubled":
        lines.insert(at, line)
    elif how == "moved":
        del lines[at]
        lines.insert(random.randrange(len(lines) + 1), line)
    elif how == "cut":
        lines[at] = line[: random.randrange(len(line) + 1)]
    elif how == "in":
        lines[at] = " " * random.choice((1, 2)) + line
    elif how == "out":
        lines[at] = line[min(random.choice((1, 2)), len(line) - len(line.lstrip())) :]
    elif how == "tab":
        lines[at] = "\t" + line.lstrip()
    else:
        del lines[at:]
    return "\n".join(lines), f"line {at + 1} {how}"
