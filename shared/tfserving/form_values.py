"""Values for the fields that hold one: plain ones, and wrappers. Pure."""

from typing import Final

from google.protobuf.descriptor import FieldDescriptor

from shared.tfserving import form_literals as literals
from shared.tfserving.form_kinds import BOUNDS, At, Words, message_of
from shared.tfserving.form_nodes import Field, Items, Message, Problems, Scalar, Value
from shared.tfserving.form_single import single
from shared.tfserving.form_writing import Put
from shared.tfserving.reading import FormFault

_BATCHING: Final = "BatchingParameters"


def literal(known: FieldDescriptor, scalar: Scalar, *, of: str = "") -> literals.Literal:
    """The scalar for a plain field; `of` is the wrapper's name where the field is the value in one."""
    if known.type in BOUNDS:
        low, high = BOUNDS[known.type]
        return literals.integer(scalar, low=low, high=high, micros=(of or known.name).endswith("micros"))
    if known.type == FieldDescriptor.TYPE_BOOL:
        return literals.boolean(scalar)
    if known.type == FieldDescriptor.TYPE_DOUBLE:
        return literals.real(scalar)
    if known.enum_type is not None:
        return literals.choice(scalar, {value.name: value.number for value in known.enum_type.values})
    return literals.string(scalar)


class Values:
    """Values of one file."""

    def __init__(self, problems: Problems, words: Words) -> None:
        self._problems = problems
        self._words = words

    # --- Plain fields --------------------------------------------------------------------------------------------------------------

    def plain(self, field: Field, value: Value, known: FieldDescriptor, at: At, path: str) -> list[Put]:
        """The value of a plain field of the message at `at`."""
        if isinstance(value, Message):
            return self._braced(field, value, known, at, path)
        if isinstance(value, Items):
            self._problems.uncertain(path, field.line, f"A list inside a list stands behind {field.name}.")
            return []
        found = literal(known, value)
        self._report(found, known.name, path, value.line)
        return [] if found.text is None else [Put(known.name, found.text, value.line, value.line)]

    def _report(self, found: literals.Literal, name: str, path: str, line: int, *, wrapped: bool = False) -> None:
        if found.text is None:
            self._problems.uncertain(path, line, f"{name}: {found.mistake}")
        elif found.mistake:
            right = f"{name} {{ value: {found.text} }}" if wrapped else f"{name}: {found.text}"
            self._problems.syntax(path, line, f"{name}: {found.mistake}", right)

    def _braced(self, field: Field, value: Message, known: FieldDescriptor, at: At, path: str) -> list[Put]:
        """A plain field whose values stand in braces, as those of a wrapper do."""
        texts = _texts_in(value, known)
        if texts is not None and len(texts) > 1 and not known.is_repeated:
            texts = None
        _, meaning = self._words.of(at.way, f"{known.name} {{ value: 1 }}")
        meaning = meaning or f"{known.name} is a plain field and stands without braces."
        message = f'{meaning} The parser says: Expected ":".'
        if known.containing_type is not None and known.containing_type.name == _BATCHING and any(part.name for part in value.fields):
            right = "\n".join(f"{known.name}: {text}" for text in texts or ["..."])
            self._problems.add(FormFault.WRAPPER, known.name, field.line, message, right)
            self._problems.certain = self._problems.certain and texts is not None
        elif texts is not None:
            self._problems.syntax(path, field.line, message, "\n".join(f"{known.name}: {text}" for text in texts))
        else:
            self._problems.uncertain(path, field.line, message)
        return [Put(known.name, text, field.line, field.line) for text in texts or []]

    # --- Wrappers ------------------------------------------------------------------------------------------------------------------

    def bare(self, field: Field, value: Scalar, known: FieldDescriptor, at: At, path: str) -> list[Put]:
        """A wrapper for which a bare value stands. With an equals sign the sign is the mistake, and has been reported."""
        put = self.wrapped(field, value, known, path)
        if field.sign != "=":
            _, meaning = self._words.of(at.way, f"{known.name}: 1")
            what = meaning.partition(": write ")[0] or f'"{known.name}" is a wrapper'
            self._problems.add(
                FormFault.WRAPPER,
                path,
                field.line,
                f'{what}; here a bare {literals.shortened(value.text)} stands for it. The parser says: Expected "{{".',
                put.on_one_line() if put is not None else f"{known.name} {{ value: ... }}",
            )
        return [put] if put is not None else []

    def wrapped(self, field: Field, value: Scalar, known: FieldDescriptor, path: str) -> Put | None:
        """The wrapper around a bare value; None where the value is not certain."""
        found = literal(message_of(known).fields_by_name["value"], value, of=known.name)
        self._report(found, known.name, path, value.line, wrapped=True)
        if found.text is None:
            return None
        return Put(known.name, [Put("value", found.text, field.line, field.line)], field.line, field.line)

    def wrapper(self, field: Field, value: Message, known: FieldDescriptor, at: At, above: list[Field]) -> Put | None:
        """A wrapper in braces. `at` is the wrapper's own place; `above` are its fields that belong to the message around it."""
        inner: list[Put] = []
        own = [part for part in value.fields if not any(part is other for other in above)]
        for part in own:
            put = self._part(part, known, at, alone=len(own) == 1)
            if put is not None:
                inner.append(put)
        if own and not inner:
            return None
        return Put(known.name, single(inner, at, self._problems), field.line, max(field.line, value.last_line))

    def _part(self, part: Field, known: FieldDescriptor, at: At, *, alone: bool) -> Put | None:
        """What stands in a wrapper's braces, as its value."""
        scalar = part.value.items[0] if isinstance(part.value, Items) and len(part.value.items) == 1 else part.value
        if not isinstance(scalar, Scalar):
            self._problems.uncertain(at.path, part.line, f"{known.name}: one value stands inside these braces: {{ value: 32 }}.")
            return None
        found = literal(at.here.fields_by_name["value"], scalar, of=known.name)
        right = f"{known.name} {{ value: {found.text if found.text is not None else '...'} }}"
        if part.name not in ("", "value"):
            said = self._words.said(at.way, f"{part.name}: 1")
            self._problems.add(FormFault.UNKNOWN_FIELD, at.shown(part.name), part.line, f"{known.name}: {said}", right)
            if not alone or found.text is None:
                self._problems.certain = False
                return None
        elif not part.name or part.sign != ":" or isinstance(part.value, Items):
            self._problems.syntax(at.path, part.line, f"{known.name}: inside the braces stands value: and the value.", right)
        self._report(found, known.name, at.path, part.line, wrapped=True)
        return None if found.text is None else Put("value", found.text, part.line, part.line)


def _texts_in(value: Message, known: FieldDescriptor) -> list[str] | None:
    """The values in the braces for the plain field before them; None where not all are certain."""
    texts: list[str] = []
    for part in value.fields:
        for each in part.value.items if isinstance(part.value, Items) else (part.value,):
            if not isinstance(each, Scalar) or part.name not in ("", "value", "values", known.name):
                return None
            for scalar in literals.several(each):
                found = literal(known, scalar)
                if found.text is None:
                    return None
                texts.append(found.text)
    return texts or None
