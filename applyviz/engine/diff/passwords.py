"""Fields that the schema of a kind calls passwords: found by their paths, and masked as the values of Secrets are.

Rule: `format: password` of OpenAPI, in a CustomResourceDefinition. A field counts whatever type its value has, and
whatever its letters' case; a path leads through list entries and map keys alike, so that the value of a JSON patch,
which names entries by number, is found too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from applyviz.engine.diff.tags import name_items
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.schema.password_fields import ANY, PasswordPath

_Path: TypeAlias = tuple[str, ...]
_WITHOUT = str.maketrans("", "", " \t\"'\\")
_Mask: TypeAlias = Callable[[JSONValue, _Path], JSONValue]


class KindPasswords(NamedTuple):
    """The fields of one kind, of any version, that its schema calls passwords."""

    group: str
    kind: str
    paths: tuple[PasswordPath, ...]


@dataclass(slots=True)
class _Step:
    """The paths that go on from a value: by the lower-case name of a field, or by `ANY`."""

    is_password: bool = False
    below: dict[str, _Step] = field(default_factory=dict)


@lru_cache(maxsize=256)
def _plant(paths: tuple[PasswordPath, ...]) -> _Step:
    root = _Step()
    for path in paths:
        at = root
        for name in path:
            at = at.below.setdefault(name.lower(), _Step())
        at.is_password = True
    return root


def _follow(steps: Iterable[_Step], name: str) -> list[_Step]:
    return [step.below[key] for step in steps for key in dict.fromkeys((name.lower(), ANY)) if key in step.below]


def _enter(steps: Iterable[_Step]) -> list[_Step]:
    """Return the steps of the entries of a list; where none is expected, its entries count as the value."""
    return [step.below.get(ANY, step) for step in steps]


def _find(value: JSONValue, steps: list[_Step]) -> Iterator[JSONValue]:
    if any(step.is_password for step in steps):
        yield value
    elif isinstance(value, Mapping):
        for name, below in value.items():
            found = _follow(steps, name)
            if found:
                yield from _find(below, found)
    elif isinstance(value, list):
        for item in value:
            yield from _find(item, _enter(steps))


def _hide(value: JSONValue, shown: JSONValue, steps: list[_Step], path: _Path, mask: _Mask) -> JSONValue:
    if any(step.is_password for step in steps):
        return mask(value, path)
    if isinstance(value, Mapping) and isinstance(shown, Mapping):
        found = {name: _follow(steps, name) for name in value}
        hidden = {
            name: _hide(value[name], shown[name], below, (*path, name), mask) for name, below in found.items() if below
        }
        return {**shown, **hidden} if hidden else shown
    if isinstance(value, list) and isinstance(shown, list):
        steps = _enter(steps)
        named = zip(value, shown, name_items(value, path), strict=True)
        return [_hide(item, other, steps, below, mask) for item, other, below in named]
    return shown  # nothing to hide, or masked as a whole already


def _list_names(kind: KindPasswords) -> frozenset[str]:
    """Return the last name of each path; entries are named by their list."""
    return frozenset(next((name for name in reversed(path) if name != ANY), "").lower() for path in kind.paths)


def _list_texts(value: JSONValue) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        for below in value.values() if isinstance(value, Mapping) else value:
            yield from _list_texts(below)
    elif value is not None and not isinstance(value, bool):
        yield value if isinstance(value, str) else json.dumps(value)


class Passwords(Struct, frozen=True):
    """The passwords of the kinds of a plan."""

    kinds: tuple[KindPasswords, ...] = ()

    def join(self, other: Passwords) -> Passwords:
        """Return the passwords of both: a field counts that either of them names."""
        if not other.kinds or other == self:
            return self
        paths: dict[tuple[str, str], dict[PasswordPath, None]] = {}
        for kind in (*self.kinds, *other.kinds):
            paths.setdefault((kind.group, kind.kind), {}).update(dict.fromkeys(kind.paths))
        return Passwords(tuple(KindPasswords(*name, tuple(found)) for name, found in sorted(paths.items())))

    def find(self, gvk: GroupVersionKind | None) -> tuple[PasswordPath, ...]:
        """Return the paths of a kind; () for a kind without any."""
        if gvk is None:
            return ()
        return next((one.paths for one in self.kinds if (one.group, one.kind) == (gvk.group, gvk.kind)), ())

    def find_claimed(self, obj: JSONObject) -> tuple[PasswordPath, ...]:
        """Return the paths of the kind that an object claims to be."""
        if not self.kinds or not isinstance(obj.get("kind"), str) or not isinstance(obj.get("apiVersion"), str):
            return ()
        return self.find(GroupVersionKind.from_object(obj))

    def claims_any(self, obj: JSONObject) -> bool:
        """Return whether an object claims to be of a kind that has passwords."""
        return bool(self.find_claimed(obj))

    def names_any(self, text: str) -> bool:
        """Return whether a text names such a kind at all."""
        return any(one.kind in text for one in self.kinds)

    def are_in(self, text: str) -> bool:
        """Return whether a text that is not valid JSON may hold an object of such a kind, as YAML or cut off."""
        named = [one for one in self.kinds if one.kind in text]
        if not named:
            return False
        compact = text.translate(_WITHOUT).lower()
        return any(
            f"kind:{one.kind.lower()}" in compact and any(f"{name}:" in compact for name in _list_names(one))
            for one in named
        )

    def list_values(self, obj: JSONObject, gvk: GroupVersionKind | None) -> frozenset[str]:
        """Return every password of an object as text, by its kind and by the one that it claims."""
        steps = self._list_steps(obj, gvk)
        found = _find(obj, steps) if steps else ()
        return frozenset(text for value in found for text in _list_texts(value)) - {""}

    def hide(
        self, obj: JSONObject, shown: JSONObject, gvk: GroupVersionKind | None, path: _Path, mask: _Mask
    ) -> JSONObject:
        """Return what is shown of an object with its passwords masked, by its kind and by the one that it claims.

        - `path` is that of the object itself; `mask(value, path)` returns the mask of a value.
        """
        steps = self._list_steps(obj, gvk)
        hidden = _hide(obj, shown, steps, path, mask) if steps else shown
        return hidden if isinstance(hidden, Mapping) else shown

    def _list_steps(self, obj: JSONObject, gvk: GroupVersionKind | None) -> list[_Step]:
        paths = dict.fromkeys((self.find(gvk), self.find_claimed(obj))) if self.kinds else {}
        return [_plant(one) for one in paths if one]


NO_PASSWORDS = Passwords()
