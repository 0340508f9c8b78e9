"""How the manifests of one source differ between two plans, object by object, as the plans read them.

They are stored masked with a key of their plan, so the tags of two plans never match. The tags are taken away: masked
values look equal here, and whether one changes is what the plan itself says.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from applyviz.engine.diff.marks import is_masked, remove_tags
from applyviz.engine.objects.accessors import as_mapping
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.digest.serialize import from_json
from applyviz.records.models import ObjectChange, Plan
from applyviz.workflow.plans.changes import read_masked_core, ref_of
from applyviz.workflow.plans.source_runs.same_source import ComparedSource

MOST_COMPARED = 100
"""The largest number of objects whose manifests are compared line by line."""


class ReadManifest(Struct, frozen=True):
    """The manifest of one object as a plan read it, masked and without tags, and its position in the source."""

    ref: ObjectRef
    position: SourcePosition
    content: JSONObject


class ManifestDifference(Struct, frozen=True):
    """An object whose manifest differs; a side is None where the source did not have it."""

    before: ReadManifest | None
    after: ReadManifest | None

    @property
    def latest(self) -> ReadManifest:
        """Return the newer manifest, of a removed object the older one."""
        found = self.after or self.before
        assert found is not None  # noqa: S101 - one of both is there
        return found


class ManifestDifferences(Struct, frozen=True):
    """The objects that differ, in the order of the newer plan, then those that it lacks; `more` are not listed.

    - `holds_masked`: some value of the source is masked, so that it may differ unseen.
    """

    changes: tuple[ManifestDifference, ...]
    more: int
    holds_masked: bool


_Key = tuple[tuple[str, str, str, str], int]


def _read_rows(plan: Plan, source: ComparedSource) -> Iterator[tuple[ObjectChange, SourcePosition]]:
    """Yield the rows of objects that came from a source, with their positions in it."""
    names = set(plan.revision.files.filter(source.files).values_list("name", flat=True))
    for row in plan.changes.defer("sealed").order_by("position").iterator(chunk_size=100):
        position = from_json(SourcePosition, row.document.get("position", {}))
        if position.file in names:
            yield row, position


def _read_manifests(plan: Plan, source: ComparedSource) -> dict[_Key, ReadManifest]:
    """Return the manifests of a plan; the number distinguishes what one source names twice."""
    found: dict[_Key, ReadManifest] = {}
    for row, position in _read_rows(plan, source):
        content, ref, number = read_masked_core(row).versions.manifest, ref_of(row), 0
        if content is None:
            continue
        while (ref.key, number) in found:
            number += 1
        found[ref.key, number] = ReadManifest(ref, position, as_mapping(remove_tags(content)))
    return found


def compare_manifests(earlier: Plan, plan: Plan, source: ComparedSource) -> ManifestDifferences:
    """Return how the manifests of one source differ between two complete plans; reads no secret."""
    before, after = _read_manifests(earlier, source), _read_manifests(plan, source)
    changed = [ManifestDifference(before.get(key), one) for key, one in after.items() if _differs(before.get(key), one)]
    removed = [ManifestDifference(one, None) for key, one in before.items() if key not in after]
    found = (*changed, *removed)
    holds_masked = any(is_masked(one.content) for one in (*after.values(), *before.values()))
    return ManifestDifferences(found[:MOST_COMPARED], max(0, len(found) - MOST_COMPARED), holds_masked)


def _differs(before: ReadManifest | None, after: ReadManifest) -> bool:
    return before is None or before.content != after.content
