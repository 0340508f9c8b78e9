"""Compare two objects as sets of fields: added, removed, modified.

Rule: structured-merge-diff `typed.Compare`: atomic values and empty maps and lists compare as one; an added or removed
item counts with everything below it; duplicates in a list compare as one group. 1 and 1.0 are equal. Parts that are the
same Python object are skipped.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.fieldsets import EMPTY, FieldSet, FieldSetBuilder
from applyviz.engine.objects.paths import FieldPath, PathElement, render_path
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.ownership.merging import LIST, MAP, choose_form, find_form
from applyviz.engine.schema.topology import ItemError, Topology


class OwnerComparison(Struct, frozen=True):
    """The fields that an object gained, lost or changed."""

    added: FieldSet = EMPTY
    removed: FieldSet = EMPTY
    modified: FieldSet = EMPTY

    @property
    def changed(self) -> FieldSet:
        """The fields that were added or modified."""
        return self.modified.union(self.added)

    def without(self, fields: FieldSet) -> OwnerComparison:
        """Return the comparison without some fields and everything below them."""
        if not fields:
            return self
        return OwnerComparison(
            self.added.recursive_difference(fields),
            self.removed.recursive_difference(fields),
            self.modified.recursive_difference(fields),
        )


def compare(topology: Topology, left: JSONValue, right: JSONValue) -> OwnerComparison:
    """Compare two objects of one kind and version.

    - Raises `OwnershipError` for list entries that cannot be named.
    """
    if left is right:
        return OwnerComparison()
    walk = _Walk()
    walk.compare(topology, left, right, ())
    return OwnerComparison(walk.added.build(), walk.removed.build(), walk.modified.build())


def is_equal(left: JSONValue, right: JSONValue) -> bool:
    """Return whether two values are equal for the API server: numbers as floats, booleans are not numbers."""
    if left is right:
        return True
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(k in right and is_equal(v, right[k]) for k, v in left.items())
        )
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(is_equal, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    if isinstance(left, float) != isinstance(right, float):
        return isinstance(left, int | float) and isinstance(right, int | float) and float(left) == float(right)
    return bool(left == right)


def _group(topology: Topology, items: list[JSONValue], path: FieldPath) -> dict[PathElement, list[JSONValue]]:
    groups: dict[PathElement, list[JSONValue]] = {}
    for position, item in enumerate(items):
        try:
            element = topology.name_item(item)
        except ItemError as error:
            text = f"{render_path(path)}: element {position}: {error}"
            raise OwnershipError(text, errors=(text,)) from None
        groups.setdefault(element, []).append(item)
    return groups


class _Walk:
    def __init__(self) -> None:
        self.added = FieldSetBuilder()
        self.removed = FieldSetBuilder()
        self.modified = FieldSetBuilder()

    def compare(self, topology: Topology | None, left: JSONValue, right: JSONValue, path: FieldPath) -> None:
        if left is right or topology is None:
            return
        left_form, right_form = find_form(topology, left), find_form(topology, right)
        if left_form is not right_form:
            first, second = choose_form(topology, left_form), choose_form(topology, right_form)
            self._compare_as(topology, first, left, right, path)
            if second is first:
                return
            right_form = second
        self._compare_as(topology, choose_form(topology, right_form), left, right, path)

    def _compare_as(self, topology: Topology, form: str, left: JSONValue, right: JSONValue, path: FieldPath) -> None:
        if form is MAP:
            mine = left if isinstance(left, dict) else {}
            theirs = right if isinstance(right, dict) else {}
            if not topology.is_atomic_map and (mine or theirs):
                self._compare_maps(topology, mine, theirs, path)
                return
        elif form is LIST:
            items = left if isinstance(left, list) else []
            others = right if isinstance(right, list) else []
            if not topology.is_atomic_list and (items or others):
                self._compare_lists(topology, items, others, path)
                return
        if not is_equal(left, right):
            self.modified.add(path)

    def _compare_maps(
        self, topology: Topology, left: Mapping[str, JSONValue], right: Mapping[str, JSONValue], path: FieldPath
    ) -> None:
        for name, entry in left.items():
            if name not in right:
                mark(topology.child(name), entry, self.removed, path, "f:" + name)
            elif right[name] is not entry:
                self.compare(topology.child(name), entry, right[name], (*path, "f:" + name))
        for name, entry in right.items():
            if name not in left:
                mark(topology.child(name), entry, self.added, path, "f:" + name)

    def _compare_lists(
        self, topology: Topology, left: list[JSONValue], right: list[JSONValue], path: FieldPath
    ) -> None:
        mine, theirs = _group(topology, left, path), _group(topology, right, path)
        for element, items in mine.items():
            self._compare_groups(topology.item, items, theirs.get(element, []), path, element)
        for element, others in theirs.items():
            if element not in mine:
                self._compare_groups(topology.item, [], others, path, element)

    def _compare_groups(
        self,
        topology: Topology,
        items: list[JSONValue],
        others: list[JSONValue],
        path: FieldPath,
        element: PathElement,
    ) -> None:
        """Compare the entries of one name: one to one, or as a group if the name is duplicated."""
        if len(items) == 1 and len(others) == 1:
            self.compare(topology, items[0], others[0], (*path, element))
        elif len(items) > 1 and len(others) > 1:
            if not is_equal(items, others):
                self.modified.add((*path, element))
        else:
            self._mark_group(topology, items, self.removed, path, element)
            self._mark_group(topology, others, self.added, path, element)

    @staticmethod
    def _mark_group(
        topology: Topology, items: list[JSONValue], builder: FieldSetBuilder, path: FieldPath, element: PathElement
    ) -> None:
        if len(items) == 1:
            mark(topology, items[0], builder, path, element)
        elif items:
            builder.add((*path, element))


def mark(
    topology: Topology | None, value: JSONValue, builder: FieldSetBuilder, path: FieldPath, element: PathElement
) -> None:
    """Add an entry that exists on one side only to a set, with everything below it."""
    _mark(topology, value, builder.descend(path), (*path, element))


def _mark(topology: Topology | None, value: JSONValue, node: FieldSetBuilder, path: FieldPath) -> None:
    element = path[-1]
    node.members.add(element)
    if not value or topology is None:
        return
    if isinstance(value, dict):
        if topology.is_map and not topology.is_atomic_map:
            below = node.descend((element,))
            for name, entry in value.items():
                _mark(topology.child(name), entry, below, (*path, "f:" + name))
    elif isinstance(value, list) and topology.is_list and not topology.is_atomic_list:
        below = node.descend((element,))
        for name, items in _group(topology, value, path).items():
            if len(items) == 1:
                _mark(topology.item, items[0], below, (*path, name))
            else:
                below.members.add(name)
