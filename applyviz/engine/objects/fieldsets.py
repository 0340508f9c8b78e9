"""Sets of field paths, as managedFields hold them: an immutable trie over path elements.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/ (fieldsV1): `{}` says that the field itself is
in the set, `"."` beside children says that it is in the set as well. A field is not in a set because its parent or its
children are. Sets share their branches and are never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from applyviz.engine.objects.errors import OwnershipError
from applyviz.engine.objects.paths import FieldPath, PathElement, normalize_element, sort_key, write_element
from applyviz.engine.objects.values import JSONValue, MutableObject

_COMPARED = 6
_NO_MEMBERS: frozenset[PathElement] = frozenset()


class FieldSet:
    """The elements that are in the set at this level, and the sets below elements; no branch is empty."""

    __slots__ = ("children", "members")

    def __init__(
        self,
        members: frozenset[PathElement] = _NO_MEMBERS,
        children: Mapping[PathElement, FieldSet] | None = None,
    ) -> None:
        self.members = members
        self.children: Mapping[PathElement, FieldSet] = children if children is not None else {}

    def __bool__(self) -> bool:
        return bool(self.members or self.children)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldSet):
            return NotImplemented
        return self.members == other.members and self.children == other.children

    def __hash__(self) -> int:
        return hash((self.members, frozenset(self.children)))

    def __len__(self) -> int:
        return len(self.members) + sum(len(c) for c in self.children.values())

    def __iter__(self) -> Iterator[FieldPath]:
        """Yield all paths as the API server lists them: members before what is below, in path order."""
        return self._walk(())

    def _walk(self, prefix: FieldPath) -> Iterator[FieldPath]:
        for element in sorted(self.members, key=sort_key):
            yield (*prefix, element)
        for element in sorted(self.children, key=sort_key):
            yield from self.children[element]._walk((*prefix, element))

    def __repr__(self) -> str:
        return f"FieldSet({list(self)!r})"

    def has(self, path: FieldPath) -> bool:
        """Return whether the path itself is in the set."""
        if not path:
            return False
        node: FieldSet | None = self
        for element in path[:-1]:
            node = node.children.get(element) if node is not None else None
        return node is not None and path[-1] in node.members

    def below(self, element: PathElement) -> FieldSet:
        """Return the set of paths that begin with an element, without it."""
        return self.children.get(element, EMPTY)

    def union(self, other: FieldSet) -> FieldSet:
        """Return the paths that are in either set."""
        if self is other or not other:
            return self
        if not self:
            return other
        children = dict(self.children)
        for element, theirs in other.children.items():
            mine = children.get(element)
            children[element] = theirs if mine is None else mine.union(theirs)
        return FieldSet(other.members | self.members, children)  # of equal elements, the other spelling wins

    def intersection(self, other: FieldSet) -> FieldSet:
        """Return the paths that are in both sets."""
        if self is other:
            return self
        children = {}
        theirs = other.children
        for element, mine in self.children.items():
            if element in theirs:
                both = mine.intersection(theirs[element])
                if both:
                    children[element] = both
        return FieldSet(self.members & other.members, children)

    def difference(self, other: FieldSet) -> FieldSet:
        """Return the paths of this set that are not in the other; parents in the other keep their children."""
        if not other:
            return self
        if self is other:
            return EMPTY
        children = dict(self.children)
        for element, theirs in other.children.items():
            mine = children.get(element)
            if mine is not None:
                rest = mine.difference(theirs)
                if rest:
                    children[element] = rest
                else:
                    del children[element]
        return FieldSet(self.members - other.members, children)

    def recursive_difference(self, other: FieldSet) -> FieldSet:
        """Return the paths of this set that are neither in the other nor below one of its paths."""
        if not other:
            return self
        children = {}
        for element, mine in self.children.items():
            if element in other.members:
                continue
            theirs = other.children.get(element)
            rest = mine if theirs is None else mine.recursive_difference(theirs)
            if rest:
                children[element] = rest
        return FieldSet(self.members - other.members, children)

    def is_subset(self, other: FieldSet) -> bool:
        """Return whether every path of this set is in the other."""
        if self is other:
            return True
        if not self.members <= other.members:
            return False
        theirs = other.children
        return all(e in theirs and mine.is_subset(theirs[e]) for e, mine in self.children.items())

    def render(self) -> MutableObject:
        """Return the set as fieldsV1."""
        fields: MutableObject = {}
        children = self.children
        for element in self.members:
            if element not in children:
                fields[element if type(element) is str else write_element(element)] = {}
        for element, child in children.items():
            below = child.render()
            if element in self.members:
                below["."] = {}
            fields[element if type(element) is str else write_element(element)] = below
        return fields


EMPTY = FieldSet()


class FieldSetBuilder:
    """Collects paths; `build` returns the trie once."""

    __slots__ = ("children", "members")

    def __init__(self) -> None:
        self.members: set[PathElement] = set()
        self.children: dict[PathElement, FieldSetBuilder] = {}

    def add(self, path: FieldPath) -> None:
        """Add a path; the empty path names the whole object and is not tracked."""
        if not path:
            return
        self.descend(path[:-1]).members.add(path[-1])

    def descend(self, path: FieldPath) -> FieldSetBuilder:
        """Return the builder of the paths below a path; create it if there is none yet."""
        node = self
        for element in path:
            below = node.children.get(element)
            if below is None:
                below = node.children[element] = FieldSetBuilder()
            node = below
        return node

    def build(self) -> FieldSet:
        """Return the set of all paths added."""
        children = {e: built for e, c in self.children.items() if (built := c.build())}
        return FieldSet(frozenset(self.members), children)


def from_paths(paths: Iterable[FieldPath]) -> FieldSet:
    """Return the set of some paths."""
    builder = FieldSetBuilder()
    for path in paths:
        builder.add(path)
    return builder.build()


def read_fields(fields: JSONValue) -> FieldSet:
    """Parse fieldsV1.

    - Elements of unknown types are left out.
    - Raises `OwnershipError` for values that are not fieldsV1.
    """
    try:
        found, _ = _read(fields)
    except RecursionError:
        raise OwnershipError("fieldsV1 is nested too deeply") from None
    return found or EMPTY


class FieldSetMemo:
    """A cache of parsed fieldsV1 values for one plan, whose steps read the same objects.

    Values are cached by identity and kept alive; like all inputs they must not change meanwhile. The first few are also
    compared: versions of an object mostly have the same entries, and equal ones get one set.
    """

    __slots__ = ("_read", "_written")

    def __init__(self) -> None:
        self._read: dict[int, tuple[JSONValue, FieldSet]] = {}
        self._written: dict[int, tuple[JSONValue, FieldSet]] = {}

    def read(self, fields: JSONValue) -> FieldSet:
        """Parse fieldsV1.

        - Raises `OwnershipError` for values that are not fieldsV1.
        """
        known = self._read.get(id(fields))
        if known is None:
            equal = next((one for value, one in islice(self._read.values(), _COMPARED) if value == fields), None)
            known = self._read[id(fields)] = (fields, read_fields(fields) if equal is None else equal)
        return known[1]

    def write(self, fields: FieldSet) -> MutableObject:
        """Return a set as fieldsV1."""
        written = fields.render()
        self._written[id(written)] = (written, fields)
        return written

    def recall(self, fields: JSONValue) -> FieldSet:
        """Return the set of a fieldsV1 value; a value that `write` produced is not parsed again.

        - Integers beyond 2**53 are those that were written, not the floats that parsing makes of them.
        """
        known = self._written.get(id(fields))
        return known[1] if known is not None else self.read(fields)


def _read(fields: JSONValue) -> tuple[FieldSet | None, bool]:
    """Return the set below (None if empty) and whether the field itself is in the set."""
    if fields is None or fields == {}:
        return None, True
    if not isinstance(fields, Mapping):
        raise OwnershipError(f"expected an object, got {type(fields).__name__}")
    is_member = False
    members: list[PathElement] = []
    children: dict[PathElement, FieldSet] = {}
    for text, value in fields.items():
        if text == ".":
            is_member = True
            continue
        element = text if text[:2] == "f:" else _normalize(text)
        if element is None:
            continue
        if value is None or (not value and type(value) is dict):  # the fast path
            members.append(element)
            continue
        below, is_itself = _read(value)
        if is_itself:
            members.append(element)
        if below is not None:
            children[element] = below
    if not members and not children:
        return None, True
    return FieldSet(frozenset(members), children), is_member


def _normalize(text: str) -> PathElement | None:
    if len(text) > 1 and text[1] == ":" and text[0] not in "kvi":
        return None
    try:
        return normalize_element(text)
    except (ValueError, RecursionError) as error:
        raise OwnershipError(f"parsing key as path element: {error}") from None
