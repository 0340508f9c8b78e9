"""Details of one field of a plan: the schema of its kind, also of a custom resource, and its history.

A kind is searched in the bundled documents, in the definitions of the same plan, then in the cluster, which requires
its credential; without an answer there is no schema. The history comes from the runs on that cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from applyviz.clusters import connect, discovery
from applyviz.engine.explain.reasons import FieldOperation, FieldReason
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.paths import FieldPath, element_value
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model.plan import Versions
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource, defines_kind
from applyviz.engine.schema.model import KindSchema, ListType, MapType, Node
from applyviz.records.enums import Outcome
from applyviz.records.models import ObjectChange, ObjectResult, Plan
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.plans.changes import read_masked

LOOKED_AT = 12
_CALM = (FieldOperation.UNCHANGED, FieldOperation.KEPT, FieldOperation.DEFAULTED, FieldOperation.ALLOCATED)


class PastMove(Struct, frozen=True):
    """One run that changed a field or its owners."""

    at: datetime | None
    run_number: int
    position: int
    by: str
    reason: FieldReason
    versions: Versions


class FieldFacts(Struct, frozen=True):
    """The schema of one field; `default` is valid if `has_default`."""

    description: str = ""
    type: str = ""
    format: str = ""
    list_type: ListType | None = None
    list_map_keys: tuple[str, ...] = ()
    map_type: MapType | None = None
    patch_strategy: tuple[str, ...] = ()
    patch_merge_key: str = ""
    has_default: bool = False
    default: JSONValue = None
    enum: tuple[JSONValue, ...] = ()


def _find_node(root: Node | None, path: FieldPath) -> Node | None:
    node = root
    for element in path:
        if node is None:
            return None
        node = node.child(str(element_value(element))) if element[0] == "f" else node.items
    return node


def facts_at(kind: KindSchema | None, path: FieldPath) -> FieldFacts | None:
    """Return the schema of a field of a kind; None for an unknown field."""
    node = _find_node(kind.root, path) if kind else None
    if node is None:
        return None
    return FieldFacts(
        node.description,
        node.type,
        node.format,
        node.list_type,
        tuple(node.list_map_keys),
        node.map_type,
        tuple(node.patch_strategy),
        node.patch_merge_key,
        node.has_default,
        node.default if node.has_default else None,
        tuple(node.enum),
    )


def find_known_kind(plan: Plan, gvk: GroupVersionKind) -> KindSchema | None:
    """Return the bundled schema of a kind, or that of the plan; None when only the cluster can know it."""
    known = bundled().find_kind(gvk)
    if known is not None:
        return known
    definitions = plan.changes.filter(kind="CustomResourceDefinition", name__endswith=f".{gvk.group}").defer("sealed")
    versions = (read_masked(row).versions for row in definitions)
    crds = [obj for v in versions if (obj := v.manifest or v.live) is not None and defines_kind(obj)]
    return CRDSource(crds).find_kind(gvk) if crds else None


def read_facts(plan: Plan, gvk: GroupVersionKind, path: FieldPath) -> FieldFacts | None:
    """Read the schema of a field from the cluster of a plan, with the identity of the plan."""
    try:
        with connect.open_reader(plan.target.cluster, impersonation.read_identity(plan)) as reader:
            return facts_at(discovery.load_catalog(reader).find_kind(gvk), path)
    except ApplyVizError:
        return None


def list_past(plan: Plan, row: ObjectChange, path: FieldPath) -> Iterator[PastMove]:
    """Yield the changes of a field by the last runs on the cluster, latest first; skip runs that did not change it."""
    results = (
        ObjectResult.objects.filter(
            run__plan__target__cluster=plan.target.cluster,
            change__group=row.group,
            change__kind=row.kind,
            change__namespace=row.namespace,
            change__name=row.name,
            outcome__in=Outcome.written(),
        )
        .select_related("run__requested_by", "change")
        .defer("change__sealed")
        .order_by("-finished_at")[:LOOKED_AT]
    )
    for result in results:
        change = read_masked(result.change)
        reason = next((r for r in change.fields if r.path == path), None)
        if reason is None:
            continue
        owners = [{(o.manager, o.operation) for o in side} for side in (reason.owners_before, reason.owners_after)]
        if reason.operation not in _CALM or owners[0] != owners[1]:
            run, at = result.run, result.finished_at
            by = run.requested_by.get_username()
            yield PastMove(at, run.number, result.position, by, reason, change.versions)
