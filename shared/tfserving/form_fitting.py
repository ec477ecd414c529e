"""Fits a tree to the messages of a configuration file: which fields are none, which values have another form than their field. Pure.

What is certain is put right. What the parser would say is asked of the parser itself, with a text that holds the one mistake.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from shared.tfserving import form_literals as literals
from shared.tfserving.form_kinds import ANY, At, Words, is_list, is_map, is_wrapper, message_of, only_number
from shared.tfserving.form_names import Vocabulary, certain, nearest, snake
from shared.tfserving.form_nodes import Field, Items, Message, Problems, Scalar, Value, Written
from shared.tfserving.form_single import imply, single
from shared.tfserving.form_values import Values, literal
from shared.tfserving.form_writing import Put
from shared.tfserving.reading import FormFault

_WORD: Final = re.compile(r"\w+")
_NULLS: Final = frozenset({"null", "None", "nil", "~"})
_MOVE = "move it into a file of its own: --enable_batching=true --batching_parameters_file=/path/to/that/file"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A field that belongs into another file, and the path of the message in which it stands."""

    field: Field
    path: str


class Fitting:
    """One tree fitted to one kind of message. `text` is the file's: what is not looked into is taken over from it."""

    def __init__(self, root: Descriptor, text: str, *, vocabulary: Vocabulary, words: Words, is_unclosed: bool) -> None:
        self._root = root
        self._text = text
        self._vocabulary = vocabulary
        self._words = words
        self._problems: Problems = words.problems
        self._values = Values(words.problems, words)
        self._is_unclosed = is_unclosed
        self._moved: set[str] = set()
        self.lines: dict[str, int] = {}
        self.elsewhere: list[Elsewhere] = []

    def fit(self, fields: Sequence[Field]) -> list[Put]:
        """The file's fields as they should stand."""
        return self._message(fields, At((self._root,)))[0]

    # --- Fields of a message -------------------------------------------------------------------------------------------------------

    def _message(self, fields: Sequence[Field], at: At) -> tuple[list[Put], list[Field]]:
        """The fields put right, and those that belong to the message above, because a closing brace is missing."""
        put: list[Put] = []
        above: list[Field] = []
        counts: dict[str, int] = {}
        names = {field.name for field in fields}
        queue = list(reversed(fields))
        while queue and not self._problems.hopeless:
            each = queue.pop()
            known = at.here.fields_by_name.get(each.name)
            if each.quoted:
                said = "Field names stand without quotes: this is protobuf text, not JSON."
                self._problems.syntax(at.shown(each.name), each.line, said, each.name, once="quoted")
            if each.value is None:
                self._problems.uncertain(at.shown(each.name), each.line, f"{each.name} stands here without a value.")
            elif not each.name:
                self._nameless(each, at)
            elif known is not None:
                found, lifted = self._field(each, known, at, counts)
                put.extend(found)
                queue.extend(reversed(lifted))
            elif self._belongs_above(each, at):
                above.append(each)
            elif (inside := self._enclosing(each, at)) is not None:
                queue.extend(reversed(inside))
            else:
                put.extend(self._unknown(each, at, names))
        return single(put, at, self._problems), above

    def _belongs_above(self, field: Field, at: At) -> bool:
        return self._is_unclosed and any(field.name in kind.fields_by_name for kind in at.chain[:-1])

    def _nameless(self, field: Field, at: At) -> None:
        shown = literals.shortened(field.value.text) if isinstance(field.value, Scalar) else "a block"
        self._problems.uncertain(
            at.path, field.line, f"{shown} stands where a field of {at.here.name} should: the parser reads name: value."
        )

    # --- Fields that are none ------------------------------------------------------------------------------------------------------

    def _enclosing(self, field: Field, at: At) -> Sequence[Field] | None:
        """The content of a block around the whole: most of its fields are fields of the message in which it stands."""
        value = field.value
        if not isinstance(value, Message) or len(at.chain) > 1 or not value.fields or self._is_elsewhere(field.name):
            return None
        own = [each for each in value.fields if each.name in at.here.fields_by_name]
        if 2 * len(own) < len(value.fields) or self._meant(field.name, at):
            return None
        right = f"leave {field.name} {{ and its closing brace out"
        said, meaning = self._words.of(at.way, f"{field.name}: 1")
        meaning = meaning if "leave" in meaning else f"The file is one {at.here.name} message: {right}."
        self._problems.add(FormFault.UNKNOWN_FIELD, field.name, field.line, f"{said} {meaning}".strip(), right)
        return value.fields

    def _unknown(self, field: Field, at: At, beside: set[str]) -> list[Put]:
        shown = at.shown(field.name)
        self.lines.setdefault(shown, field.line)
        if self._is_elsewhere(field.name):
            self._belongs_elsewhere(field, at)
            return []
        names = self._meant(field.name, at)
        put = self._under(names, field, at) if names else []
        if self._problems.foreign and names == (snake(field.name),):
            return put  # JSON writes the names of protobuf's fields so
        if names and names[0] in beside and not at.here.fields_by_name[names[0]].is_repeated:
            self._set_twice(field, names, at)
            return []
        right = at.within(put[0].on_one_line()) if put else self._near(field.name, at, beside)
        said, meaning = self._words.of(at.way, f"{field.name}: 1")
        if put and names[-1] not in _WORD.findall(meaning):
            meaning = f"The field is {names[-1]}."
        self._problems.add(FormFault.UNKNOWN_FIELD, shown, field.line, f"{said} {meaning}".strip() if said else "", right)
        return put

    def _set_twice(self, field: Field, names: tuple[str, ...], at: At) -> None:
        """A misspelt field beside the field that was meant: which of the two values holds, nobody can see."""
        said, meaning = self._words.of(at.way, f"{field.name}: 1")
        if names[-1] not in _WORD.findall(meaning):
            meaning = f"The field is {names[-1]}."
        self._problems.certain = False
        right = f"leave {field.name} out, or {names[0]} with one of the two values"
        self._problems.add(FormFault.UNKNOWN_FIELD, at.shown(field.name), field.line, f"{said} {meaning}".strip() if said else "", right)

    def _near(self, name: str, at: At, beside: set[str]) -> str:
        near = None if self._problems.full else nearest(name, at.here.fields_by_name)
        is_single = near is not None and not at.here.fields_by_name[near].is_repeated
        return f"leave {name} out" if near is None or (is_single and near in beside) else near

    def _is_elsewhere(self, name: str) -> bool:
        plain = snake(name)
        return plain in self._vocabulary.elsewhere or plain in self._vocabulary.loose

    def _belongs_elsewhere(self, field: Field, at: At) -> None:
        is_loose = snake(field.name) in self._vocabulary.loose
        is_another = is_loose and at.path in self._moved
        if is_loose:
            self._moved.add(at.path)
        self.elsewhere.append(Elsewhere(field, at.path))
        if not is_another:
            said = self._words.said(at.way, f"{field.name}: 1")
            self._problems.add(FormFault.UNKNOWN_FIELD, at.shown(field.name), field.line, said, _MOVE)

    def _meant(self, name: str, at: At) -> tuple[str, ...]:
        """The way to the field that the name certainly means; empty where none is certain."""
        table = self._vocabulary.meant.get(at.here.name, {})
        if found := table.get(name) or table.get(snake(name)):
            return found
        if self._problems.full or snake(name) in self._vocabulary.invented:
            return ()
        near = certain(name, at.here.fields_by_name)
        return (near,) if near is not None else ()

    def _under(self, names: tuple[str, ...], field: Field, at: At) -> list[Put]:
        """The field's value as the field that was meant, inside the messages that its author left out."""
        was_foreign, self._problems.foreign = self._problems.foreign, True
        value: Value | None = field.value
        for name in reversed(names[1:]):
            inner = Field(name, value, ":", field.line, field.start, field.end)
            value = Message((inner,), field.line, field.line, field.start, field.end)
        outer = Field(names[0], value, ":", field.line, field.start, field.end)
        found, _ = self._field(outer, at.here.fields_by_name[names[0]], at, {})
        self._problems.foreign = was_foreign
        for put in found:
            imply(put, len(names) - 1)
        return found

    # --- Values --------------------------------------------------------------------------------------------------------------------

    def _field(self, field: Field, known: FieldDescriptor, at: At, counts: dict[str, int]) -> tuple[list[Put], list[Field]]:
        """The field put right; and fields that stand inside it and belong beside it."""
        if field.value is None or (self._problems.foreign and isinstance(field.value, Scalar) and field.value.text in _NULLS):
            return [], []
        self._sign(field, known, at)
        values: Sequence[Value] = (field.value,)
        if isinstance(field.value, Items):
            values = self._listed(field, field.value, known, at)
        elif isinstance(field.value, Scalar) and known.message_type is None and known.is_repeated:
            values = self._several(field, field.value, at)
        found: list[Put] = []
        lifted: list[Field] = []
        self.lines.setdefault(at.shown(known.name), field.line)
        for value in values:
            index = counts.get(known.name, 0)
            counts[known.name] = index + 1
            path = _path(at, known, index)
            self.lines.setdefault(path, value.line if isinstance(field.value, Items) else field.line)
            if known.message_type is None:
                found.extend(self._values.plain(field, value, known, at, path))
            else:
                found.extend(self._message_value(field, value, known, at.inside(known, path), lifted))
        return found, lifted

    def _sign(self, field: Field, known: FieldDescriptor, at: At) -> None:
        """Reports an equals sign, and a missing colon."""
        shown = at.shown(field.name)
        if field.sign == "=":
            right = f"{known.name} {{ ... }}" if known.message_type is not None else f"{known.name}: ..."
            if isinstance(field.value, Scalar) and is_wrapper(known):
                found = literal(message_of(known).fields_by_name["value"], field.value, of=known.name)
                right = f"{known.name} {{ value: {found.text} }}" if found.text is not None else right
            elif isinstance(field.value, Scalar) and known.message_type is None:
                found = literal(known, field.value)
                right = f"{known.name}: {found.text}" if found.text is not None else right
            said = f"An equals sign stands behind {field.name}: the text format has none."
            self._problems.syntax(shown, field.line, said, right)
        elif not field.sign and known.message_type is None and not isinstance(field.value, Message):
            said = f'A colon is missing behind {field.name}. The parser says: Expected ":".'
            self._problems.syntax(shown, field.line, said, f"{field.name}: ...")

    def _listed(self, field: Field, items: Items, known: FieldDescriptor, at: At) -> Sequence[Value]:
        """The values of a field that stand in brackets."""
        if known.is_repeated:
            return items.items
        shown = at.shown(field.name)
        if is_list(known) and items.items and all(isinstance(each, Message) for each in items.items):
            inner = message_of(known).fields[0].name
            fields = [Field(inner, each, "", each.line, field.start, field.end) for each in items.items]
            if not any(isinstance(each, Message) and any(part.name == inner for part in each.fields) for each in items.items):
                said = f"{field.name} is one message: each model is a {inner} in it."
                self._problems.syntax(shown, field.line, said, f"{field.name} {{ {inner} {{ ... }} }}")
                return (Message(tuple(fields), items.line, field.line, field.start, field.end),)
        if len(items.items) == 1 and is_wrapper(known) and isinstance(items.items[0], Scalar):
            return items.items
        if len(items.items) == 1:
            said = f"{field.name} has one value: it stands without brackets."
            self._problems.syntax(shown, field.line, said, f"{field.name} without [ ]")
            return items.items
        if only_number(known) is not None and all(isinstance(each, Scalar) for each in items.items):
            return (items,)
        self._problems.uncertain(shown, field.line, f"{field.name} has one value, and a list stands here.")
        return ()

    def _several(self, field: Field, value: Scalar, at: At) -> Sequence[Value]:
        """The values of a repeated field that stand behind one name without brackets."""
        parts = literals.several(value)
        if len(parts) > 1:
            self._problems.syntax(
                at.shown(field.name),
                field.line,
                f"Several values of {field.name} stand without brackets: behind the first the parser expects a field's name.",
                f"{field.name}: [{', '.join(part.text for part in parts)}]",
            )
        return parts

    # --- Messages ------------------------------------------------------------------------------------------------------------------

    def _message_value(self, field: Field, value: Value, known: FieldDescriptor, at: At, lifted: list[Field]) -> list[Put]:
        """The message of a field; `at` is its own place."""
        around = At(at.chain[:-1], at.way[:-1])
        if at.here.full_name == ANY:
            return self._opaque(field, value, at)
        if is_map(known) and not (isinstance(value, Message) and {part.name for part in value.fields} <= {"key", "value"}):
            return self._labels(field, value, known, at)
        if is_wrapper(known) and isinstance(value, Scalar):
            return self._values.bare(field, value, known, around, at.path)
        if is_wrapper(known) and isinstance(value, Message):
            above = [part for part in value.fields if part.name != "value" and self._belongs_above(part, at)]
            lifted.extend(above)
            put = self._values.wrapper(field, value, known, at, above)
            return [put] if put is not None else []
        if isinstance(value, Message):
            return [self._nested(field, value, known, at, lifted)]
        return self._from_bare(field, value, known, at, lifted)

    def _nested(self, field: Field, value: Message, known: FieldDescriptor, at: At, lifted: list[Field]) -> Put:
        inner, above = self._message(value.fields, at)
        lifted.extend(above)
        return Put(known.name, inner, field.line, max(field.line, value.last_line))

    def _from_bare(self, field: Field, value: Scalar | Items, known: FieldDescriptor, at: At, lifted: list[Field]) -> list[Put]:
        """A message for which a bare value stands, where it is certain what was meant."""
        fields = _inside(field, value, known)
        said = self._words.said(at.way[:-1], f"{known.name}: 1")
        if fields is None:
            self._problems.uncertain(
                at.path, field.line, f"{field.name} is a message and stands with braces: {known.name} {{ ... }}. {said}".strip()
            )
            return []
        put = self._nested(field, Message(fields, field.line, field.line, field.start, field.end), known, at, lifted)
        self._problems.syntax(at.path, field.line, said, put.on_one_line())
        return [put]

    def _opaque(self, field: Field, value: Value, at: At) -> list[Put]:
        """A message that is not looked into: its text is taken over."""
        if not isinstance(value, Message):
            self._problems.uncertain(at.path, field.line, f"{field.name} is a message and stands with braces.")
            return []
        inside = self._text[value.start : value.end]
        return [Put(field.name, f"{{{inside}}}", field.line, value.last_line, raw=(value.start, value.end))]

    def _labels(self, field: Field, value: Value, known: FieldDescriptor, at: At) -> list[Put]:
        """A map literal, which the text format does not have."""
        found: list[Put] = []
        for part in value.fields if isinstance(value, Message) else ():
            number = literal(at.here.fields_by_name["value"], part.value) if isinstance(part.value, Scalar) else literals.Literal(None)
            if not part.name or number.text is None or part.name in ("key", "value"):
                said = f"{field.name}: a label and the number of its version stand in each entry."
                self._problems.uncertain(at.path, part.line, said)
                continue
            key = Put("key", literals.quote(part.name), part.line, part.line)
            found.append(Put(known.name, [key, Put("value", number.text, part.line, part.line)], part.line, part.line))
        said = self._words.said(at.way[:-1], f"{known.name} {{ stable: 1 }}")
        if found:
            self._problems.syntax(at.path, field.line, said, "\n".join(put.on_one_line() for put in found[:20]))
        else:
            self._problems.uncertain(at.path, field.line, said)
        return found


def _path(at: At, known: FieldDescriptor, index: int) -> str:
    """What a person calls the value: the list of models has no name, its first entry is `config[0]`."""
    if not at.path and is_list(known):
        return ""
    return at.shown(f"{known.name}[{index}]" if known.is_repeated and not is_map(known) else known.name)


def _inside(field: Field, value: Scalar | Items, known: FieldDescriptor) -> tuple[Field, ...] | None:
    """The fields of a message for which a bare value stands: `specific: 5`, `all: true`, `model_version_policy: latest`."""
    kind, only = message_of(known), only_number(known)
    if only is not None and (isinstance(value, Items) or literals.integer(value, low=0, high=2**63 - 1).text is not None):
        return (Field(only.name, value, ":", field.line, field.start, field.end),)
    if isinstance(value, Items):
        return None
    content = literals.content_of(value).strip().lower()
    if not kind.fields and value.written is not Written.RUN and content in ("true", "yes", "1", ""):
        return ()
    chosen = kind.fields_by_name.get(content)
    if chosen is not None and chosen.containing_oneof is not None and content != "specific":
        empty = Message((), field.line, field.line, field.start, field.end)
        return (Field(content, empty, "", field.line, field.start, field.end),)
    return None
