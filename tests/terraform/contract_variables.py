"""Where a plan with all variables off their defaults says another thing than the plan of the other sample, beside what is asked for."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tests.terraform import sample_off as off
from tests.terraform.plans import Plan

Values = dict[str, Any]


def astray(away: Plan, there: Plan) -> list[str]:
    """What did not arrive, and what arrived that nobody asked for."""
    missing = [problem for places in off.ARRIVES.values() for problem in not_arrived(places, away)]
    return [*missing, *unlabelled(away), *unwanted(away), *differing(put_back(away), values_of(there, off.ONLY_THERE))]


def values_of(plan: Plan, without: Collection[str] = ()) -> dict[str, Values]:
    """The values of the plan's resources, by their addresses."""
    return {each.address: dict(each.values) for each in plan.resources if each.address not in without}


def unlabelled(plan: Plan) -> Iterator[str]:
    """What takes labels and is without the one that is given."""
    key, value = off.LABEL
    for each in plan.resources:
        for field in ("labels", "user_labels"):
            given = each.values.get(field) or {}
            if given.keys() & {"app", "trimtab_signal"} and given.get(key) != value:
                yield f"{each.address}: is without the label {key}"


def not_arrived(places: tuple[off.Arrives, ...], plan: Plan) -> Iterator[str]:
    """Where a variable is not that should be there."""
    for place in places:
        found = [each for each in plan.resources if place.address in each.address]
        if not found:
            yield f"{place.address}: is not there"
        for each in found:
            value = _at(each.values, place.path)
            if value != place.here:
                yield f"{each.address}: {place.path} is {value}, want {place.here}"


def put_back(plan: Plan) -> dict[str, Values]:
    """The values of the plan in the words of the other sample."""
    found: dict[str, Values] = json.loads(in_words_of_the_other(json.dumps(values_of(plan, off.ONLY_HERE))))
    for place in (place for places in off.ARRIVES.values() for place in places):
        arrived = json.loads(in_words_of_the_other(json.dumps(place.here)))
        for address, values in found.items():
            if place.address in address and _at(values, place.path) == arrived:
                _put(values, place)
    for values in found.values():
        for given in values.values():
            if isinstance(given, dict):
                given.pop(off.LABEL[0], None)
    return found


def in_words_of_the_other(text: str) -> str:
    """The text with what the other sample says in the place of what this one says; what it has of the other's words already is marked."""
    text = re.sub(off.LEFT, r"left: \g<0>", text)
    for here, there in off.WORDS.items():
        text = text.replace(here, there)
    return text


WITHOUT = re.compile(rf'module\.alerts\["scorer"\].*\["(?!{"|".join(off.SIGNALS)})[a-z0-9-]+"\]$')
"""The alert policies of the signals that one model does without."""


def unwanted(plan: Plan) -> Iterator[str]:
    """Alert policies of signals that the model does without."""
    yield from (f"{each.address}: the model does without it" for each in plan.resources if WITHOUT.match(each.address))


def differing(here: Mapping[str, Values], there: Mapping[str, Values]) -> Iterator[str]:
    """What is in one of two plans alone, and where they differ; the signals that one model does without left out."""
    missing = {address for address in set(there) - set(here) if not (WITHOUT.match(address) and _sampled(here))}
    yield from (f"{address}: is in one of the plans alone" for address in sorted(missing | (set(here) - set(there))))
    for address in sorted(set(here) & set(there)):
        one, other = _sorted(here[address]), _sorted(there[address])
        yield from (
            f"{address}: {name} is {one.get(name)}, want {other.get(name)}" for name in one | other if one.get(name) != other.get(name)
        )


def _sampled(found: Mapping[str, Values]) -> bool:
    """Whether the model does without most signals: it has those that it names, and no more."""
    return len([address for address in found if address.startswith('module.alerts["scorer"]')]) == len(off.SIGNALS)


def _sorted(value: Any) -> Any:
    """Lists by what is in them: a name that sorts elsewhere is no difference."""
    if isinstance(value, dict):
        return {name: _sorted(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return sorted((_sorted(inner) for inner in value), key=lambda inner: json.dumps(inner, sort_keys=True))
    return value


def _at(values: Any, path: str) -> Any:
    for part in path.split("."):
        if part.isdigit():
            values = values[int(part)] if isinstance(values, list) and len(values) > int(part) else None
        else:
            values = values.get(part) if isinstance(values, Mapping) else None
    return values


def _put(values: Any, place: off.Arrives) -> None:
    *way, last = place.path.split(".")
    for part in way:
        values = values[int(part) if part.isdigit() else part]
    if place.there is ...:
        del values[int(last)]
    else:
        values[last] = place.there
