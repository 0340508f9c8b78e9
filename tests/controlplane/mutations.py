"""New random cases from recorded ones: objects that stay near what people write, with odd turns.

Each mutation changes one place of one object of a case: a field dropped, set to null, emptied, taken from another
version, a scalar changed, a list reordered, an entry removed, doubled or renamed; and for ownership another manager
or force. Names, kinds and managed fields entries keep their form, so that a case still reaches the merge.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

VERSIONS = {
    "smp3": ("original", "modified", "current"),
    "jmp3": ("original", "modified", "current"),
    "ssa": ("live", "applied"),
    "update": ("live", "new"),
    "csaupgrade": ("live",),
}
_KEPT = {"apiVersion", "kind", "managedFields", "uid"}
Case = dict[str, Any]


def mutate(case: Mapping[str, Any], rng: random.Random, *, donors: Sequence[Mapping[str, Any]]) -> Case:
    """A new case of the same family; the recorded answer is dropped."""
    made: Case = {"op": case["op"], "input": copy.deepcopy(dict(case["input"]))}
    given = made["input"]
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        present = [name for name in VERSIONS[case["op"]] if isinstance(given.get(name), dict)]
        if present:
            change_object(given[rng.choice(present)], given, rng)
    if case["op"] in ("ssa", "update"):
        _change_writer(given, rng)
    if case["op"] == "csaupgrade":
        _change_owners(given, rng, donors)
    return made


def _entries(obj: Any) -> list[Any]:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    found = metadata.get("managedFields") if isinstance(metadata, dict) else None
    return found if isinstance(found, list) else []


def _change_writer(given: Case, rng: random.Random) -> None:
    entries = _entries(given.get("live"))
    if rng.random() < 0.3:
        given["manager"] = rng.choice([str(entry.get("manager", "")) for entry in entries] + ["somebody", ""])
    if rng.random() < 0.3 and "applied" in given:
        given["force"] = not given.get("force", False)
    if entries and rng.random() < 0.2:
        entry = rng.choice(entries)
        entry["operation"] = rng.choice(("Apply", "Update"))


def _change_owners(given: Case, rng: random.Random, donors: Sequence[Mapping[str, Any]]) -> None:
    entries = _entries(given["live"])
    if entries and rng.random() < 0.5:
        others = _entries(rng.choice(donors)["input"].get("live"))
        entries += copy.deepcopy(rng.sample(others, k=min(len(others), rng.randint(0, 2))))
    if entries and rng.random() < 0.3:
        given["csaManagers"] = rng.sample(sorted({str(e.get("manager", "")) for e in entries}), k=1)


def change_object(obj: Case, given: Case, rng: random.Random) -> None:
    """Change one place of an object; `given` are the other objects of the case, to take values from."""
    places = list(list_containers(obj))
    path, container = rng.choice(places)
    if isinstance(container, dict):
        _change_map(container, path, given, rng)
    else:
        _change_list(container, rng)


def list_containers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """All maps and lists, with their paths; what must keep its form is passed over."""
    if isinstance(value, dict):
        yield path, value
        for key, each in value.items():
            if key not in _KEPT:
                yield from list_containers(each, (*path, key))
    elif isinstance(value, list):
        yield path, value
        for number, each in enumerate(value):
            yield from list_containers(each, (*path, number))


def _change_map(container: Case, path: tuple[Any, ...], given: Case, rng: random.Random) -> None:
    kept = {(): {"metadata"}, ("metadata",): {"name", "namespace"}}.get(path, set())
    keys = [key for key in container if key not in _KEPT | kept]
    choice = rng.random()
    if choice < 0.25:
        _take_from_other(container, path, given, rng)
    elif keys:
        key = rng.choice(keys)
        if choice < 0.45:
            del container[key]
        elif choice < 0.55:
            container[key] = None
        elif choice < 0.65:
            container[key] = {} if isinstance(container[key], dict) else [] if isinstance(container[key], list) else ""
        else:
            container[key] = _another(container[key], rng)


def _take_from_other(container: Case, path: tuple[Any, ...], given: Case, rng: random.Random) -> None:
    others = []
    for name in ("original", "modified", "current", "live", "applied", "new"):
        value: Any = given.get(name)
        for step in path:
            is_inside = (isinstance(value, dict) and step in value) or (
                isinstance(value, list) and isinstance(step, int) and step < len(value)
            )
            value = value[step] if is_inside else None
        if isinstance(value, dict) and value is not container:
            others.append(value)
    if others:
        other = rng.choice(others)
        for key in rng.sample(sorted(other), k=min(len(other), rng.randint(1, 3))):
            if key not in _KEPT:
                container[key] = copy.deepcopy(other[key])


def _change_list(container: list[Any], rng: random.Random) -> None:
    choice = rng.random()
    if not container:
        return
    place = rng.randrange(len(container))
    if choice < 0.25:
        rng.shuffle(container)
    elif choice < 0.5:
        del container[place]
    elif choice < 0.6:
        container.insert(rng.randint(0, len(container)), copy.deepcopy(container[place]))
    elif choice < 0.8:
        container.append(_renamed(container[place], rng))
    else:
        container[place] = _another(container[place], rng)


def _renamed(entry: Any, rng: random.Random) -> Any:
    made = copy.deepcopy(entry)
    if isinstance(made, dict):
        for key, value in made.items():
            if isinstance(value, str | int) and not isinstance(value, bool):
                made[key] = _another(value, rng)
                return made
    return _another(made, rng)


def _another(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, 0, 1, 8080, value))
    if isinstance(value, float):
        return rng.choice((value + 0.5, 0.0, float(int(value))))
    if isinstance(value, str):
        return rng.choice((value + "-x", "", "a", "b", "10m", value))
    if isinstance(value, dict):
        return {key: _another(each, rng) if rng.random() < 0.3 else each for key, each in value.items()}
    if isinstance(value, list):
        return list(reversed(value))
    return rng.choice((None, "", 0))
