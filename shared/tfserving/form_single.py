"""Fields that may stand once, and stand twice; choices that exclude each other. Pure."""

from collections.abc import Sequence
from typing import Final

from google.protobuf.descriptor import FieldDescriptor

from shared.tfserving.form_kinds import At, is_list, is_wrapper
from shared.tfserving.form_nodes import Problems
from shared.tfserving.form_writing import Put

_EMPTY: Final = frozenset({"0", "false", '""', "''", "f", "False", "-0", "0x0"})


def single(put: Sequence[Put], at: At, problems: Problems) -> list[Put]:
    """The fields of a message without those that may not stand beside each other.

    Of a field that stands twice, blocks are taken together, and of values the last is kept. Of choices that exclude each other none is.
    """
    kept: list[Put] = []
    last: dict[str, int] = {}
    for each in put:
        known = at.here.fields_by_name[each.name]
        earlier = kept[last[each.name]] if each.name in last else None
        if earlier is None or (known.is_repeated and not _completes(earlier, each)):
            last[each.name] = len(kept)
            kept.append(each)
        elif not known.has_presence and isinstance(earlier.value, str) and earlier.value in _EMPTY:
            kept[last[each.name]] = each
        else:
            if not each.implied:
                _twice(earlier, each, known, at, problems)
            if isinstance(earlier.value, list) and isinstance(each.value, list) and not is_wrapper(known):
                _merge(earlier, each)
            else:
                kept[last[each.name]] = each
    return _choices(kept, at, problems)


def _twice(earlier: Put, later: Put, known: FieldDescriptor, at: At, problems: Problems) -> None:
    lines = f"lines {earlier.line} and {later.line}" if earlier.line != later.line else f"line {later.line}"
    shown = at.shown(later.name)
    said = (
        f"{shown} stands twice, on {lines}. The server does not choose between two values, it refuses the file: "
        f'should not have multiple "{later.name}" fields.'
    )
    if is_list(known):
        problems.syntax(shown, later.line, said, f"one {later.name} {{ ... }} around all of them")
    elif (isinstance(later.value, str) or len(later.value) <= 1) and earlier.on_one_line() == later.on_one_line():
        problems.syntax(shown, later.line, said, later.on_one_line())
    else:
        problems.uncertain(shown, later.line, said)


def _choices(put: list[Put], at: At, problems: Problems) -> list[Put]:
    for choice in at.here.oneofs:
        chosen = [each for each in put if at.here.fields_by_name[each.name].containing_oneof == choice]
        if len(chosen) > 1:
            names = " and ".join(each.name for each in chosen)
            problems.uncertain(
                at.path,
                chosen[1].line,
                f"{names} exclude each other: keep one of them. The parser says: "
                f'Field "{chosen[1].name}" is specified along with field "{chosen[0].name}".',
            )
            put = [each for each in put if at.here.fields_by_name[each.name].containing_oneof != choice]
    return put


def imply(put: Put, levels: int) -> None:
    """Marks the messages that the author left out: so many of them from the outside on."""
    for _ in range(levels):
        put.implied = True
        if not isinstance(put.value, list) or not put.value:
            return
        put = put.value[0]


def _completes(earlier: Put, later: Put) -> bool:
    """Whether the two are parts of one message whose braces were left out."""
    if not (earlier.implied and later.implied and isinstance(earlier.value, list) and isinstance(later.value, list)):
        return False
    names = {part.name for part in later.value if not part.implied}
    return not any(part.name in names for part in earlier.value)


def _merge(earlier: Put, later: Put) -> None:
    """Adds the later block's fields to the earlier."""
    assert isinstance(earlier.value, list)  # noqa: S101 (the caller has looked; this is for the type checker)
    assert isinstance(later.value, list)  # noqa: S101 (the same)
    earlier.last_line = max(earlier.last_line, later.last_line)
    for part in later.value:
        last = earlier.value[-1] if earlier.value else None
        if last is not None and last.name == part.name and _completes(last, part):
            _merge(last, part)
        else:
            earlier.value.append(part)
