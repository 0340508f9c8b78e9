"""The versions of one object, queried by path: values at, above and below it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import reduce
from typing import Any, Protocol

from applyviz.engine.diff.yaml_text import below
from applyviz.engine.explain.rows import AFTER, LAST_APPLIED, LIVE, MANIFEST, MERGED, Row, RowReader, Values
from applyviz.engine.explain.source import start
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.paths import FieldPath, element_value
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json, is_same_json
from applyviz.engine.ownership.managed_fields import FieldOwners
from applyviz.engine.schema.model import KindSchema, Node
from applyviz.engine.schema.topology import Topology, of_root
from applyviz.engine.schema.walk import MISSING

_NO_KEYS: AbstractSet[str] = frozenset()
# kubectl records them empty for every manifest without annotations, and never removes them.
_ANNOTATIONS = ("f:metadata", "f:annotations")


class AllVersions(Protocol):
    """The five versions of an object in a plan; an absent version is None."""

    @property
    def last_applied(self) -> JSONObject | None: ...
    @property
    def manifest(self) -> JSONObject | None: ...
    @property
    def live(self) -> JSONObject | None: ...
    @property
    def merged(self) -> JSONObject | None: ...
    @property
    def after(self) -> JSONObject | None: ...


_MOST_TWINS = 16


class Column:
    """One version: its leaves by path."""

    __slots__ = ("_filled", "_index", "_keys", "_paths", "_rows", "_twins")

    def __init__(self, rows: Mapping[FieldPath, Row], index: int) -> None:
        self._rows = rows
        self._index = index
        self._paths: set[FieldPath] | None = None
        self._filled: set[FieldPath] | None = None
        self._keys: dict[tuple[FieldPath, str], set[str]] | None = None
        self._twins: dict[tuple[FieldPath, str, str], list[FieldPath]] | None = None

    def get(self, path: FieldPath) -> Any:
        """Return the leaf at a path, `MISSING` if there is none."""
        row = self._rows.get(path)
        return MISSING if row is None else row[self._index]

    def __contains__(self, path: FieldPath) -> bool:
        return self.get(path) is not MISSING

    def has_path(self, path: FieldPath) -> bool:
        """Return whether there is a value at a path or below it."""
        if self._paths is None:
            self._paths = {()}
            for leaf, row in self._rows.items():
                if row[self._index] is not MISSING:
                    self._add_paths(leaf, self._paths)
        return path in self._paths

    @staticmethod
    def _add_paths(leaf: FieldPath, paths: set[FieldPath]) -> None:
        length = len(leaf)
        while leaf[:length] not in paths:
            paths.add(leaf[:length])
            length -= 1

    def list_keys(self, path: FieldPath, name: str) -> AbstractSet[str]:
        """Return the values of one key of all entries of a list, as canonical JSON."""
        if self._keys is None:
            self.has_path(())
            self._keys = {}
            for one in self._paths or ():
                for key, value in element_value(one[-1]).items() if one and one[-1][0] == "k" else ():
                    self._keys.setdefault((one[:-1], key), set()).add(canonical_json(value))
        return self._keys.get((path, name), _NO_KEYS)

    def list_twins(self, entry: FieldPath, name: str) -> list[FieldPath]:
        """Return the other entries of a list that share one key with an entry; of many, the first."""
        if self._twins is None:
            self._twins = {}
            self.has_path(())
            for path in sorted(p for p in self._paths or () if p and p[-1][0] == "k"):
                for key, value in element_value(path[-1]).items():
                    beside = self._twins.setdefault((path[:-1], key, canonical_json(value)), [])
                    if len(beside) < _MOST_TWINS:
                        beside.append(path)
        value = canonical_json(element_value(entry[-1]).get(name))
        return [path for path in self._twins.get((entry[:-1], name, value), ()) if path != entry]

    def is_hollow(self, path: FieldPath) -> bool:
        """Return whether there is a value below a path, and every one of them is an empty map or null."""
        if self._filled is None:
            self._filled = set()
            for leaf, row in self._rows.items():
                value = row[self._index]
                if value is not MISSING and value is not None and value != {}:
                    self._filled.add(())
                    self._add_paths(leaf, self._filled)
        return self.has_path(path) and path not in self._filled

    def find_above(self, path: FieldPath) -> FieldPath | None:
        """Return the leaf above a path that blocks it: a null, a scalar, an atomic or an empty value."""
        for length in range(len(path) - 1, -1, -1):
            if path[:length] in self:
                return path[:length]
        return None


class ObjectVersions:
    """All versions of one object; `after` is the last stage that is known."""

    def __init__(
        self,
        versions: AllVersions,
        kind: KindSchema | None,
        before: FieldOwners,
        after: FieldOwners,
        document: ManifestDocument | None,
    ) -> None:
        self.root: Node | None = kind.root if kind is not None else None
        self.is_strategic = kind is not None and kind.is_strategic
        core = kind.gvk.kind if kind is not None and not kind.gvk.group else ""
        self.is_secret, self.is_service = core == "Secret", core == "Service"
        self.group_kind = (kind.gvk.group, kind.gvk.kind) if kind is not None else ("", "")
        self.has_last_applied = versions.last_applied is not None
        self.is_deletion = all(v is None for v in (versions.manifest, versions.merged, versions.after))
        self.result = versions.after if versions.after is not None else versions.merged
        self.topology = of_root(self.root)
        reader = RowReader()
        reader.read(self.topology, _line_up(versions, self.is_deletion), before.start(after), start(document))
        self.rows = reader.rows
        self.reordered = reader.reordered
        self.remembered = reader.remembered - {_ANNOTATIONS}
        self.after = Column(self.rows, AFTER)
        self.live = Column(self.rows, LIVE)
        self.manifest = Column(self.rows, MANIFEST)
        self.last_applied = Column(self.rows, LAST_APPLIED)
        self.merged = Column(self.rows, MERGED)

    def find_topology(self, path: FieldPath) -> Topology | None:
        """Return the topology of a field or an entry, None if the schema does not have it."""
        whole: Topology | None = self.topology
        return reduce(below, path, whole)


def _line_up(versions: AllVersions, is_deletion: bool) -> Values:
    after = versions.after if versions.after is not None else versions.merged
    if after is None and not is_deletion:
        # The server rejects the object, so nothing changes.
        after = versions.live
    merged = versions.merged if versions.merged is not None else after
    listed = (after, versions.live, versions.manifest, versions.last_applied, merged)
    after, live, manifest, last_applied, merged = (MISSING if v is None else v for v in listed)
    return after, live, manifest, last_applied, merged


def is_same(left: JSONValue, right: JSONValue) -> bool:
    """Return whether two leaves are equal; a missing leaf equals a missing one."""
    if left is right:
        return True
    if type(left) is str and type(right) is str:
        return left == right
    return left is not MISSING and right is not MISSING and is_same_json(left, right)
