"""What else is known of one field of a plan: the schema of its kind, also of a custom resource, and its past.

A kind is looked for in the bundled documents, in the definitions of the same plan, then in the cluster, which takes
who can open its credential; a cluster that does not answer has none. The past is what runs there did to the field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from applyviz.clusters import connect, discovery
from applyviz.engine.explain.reasons import FieldOperation, FieldReason
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.paths import FieldPath, element_value
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model.plan import Versions
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import KindSchema, ListType, MapType, Node
from applyviz.records.enums import Outcome
from applyviz.records.models import ObjectChange, ObjectResult, Plan
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.plans.changes import read_masked

LOOKED_AT = 12
_CALM = (FieldOperation.UNCHANGED, FieldOperation.KEPT, FieldOperation.DEFAULTED)


@dataclass(frozen=True, slots=True)
class PastMove:
    """One run that moved a field, or who owns it."""

    at: datetime | None
    run_number: int
    position: int
    by: str
    reason: FieldReason
    versions: Versions


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """What a schema says of one field; `default` counts where `has_default`."""

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
    """What the schema of a kind says of a field; None when it knows no such field."""
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
    """The schema of a kind as the product or the plan itself knows it; None when the cluster has to be asked."""
    known = bundled().find_kind(gvk)
    if known is not None:
        return known
    definitions = plan.changes.filter(kind="CustomResourceDefinition", name__endswith=f".{gvk.group}").defer("sealed")
    versions = (read_masked(row).versions for row in definitions)
    crds = [obj for v in versions if (obj := v.manifest or v.live) is not None]
    return CRDSource(crds).find_kind(gvk) if crds else None


def read_facts(plan: Plan, gvk: GroupVersionKind, path: FieldPath) -> FieldFacts | None:
    """What the cluster of a plan says of a field of one of its kinds, asked as the identity of the plan."""
    try:
        with connect.open_reader(plan.target.cluster, impersonation.read_identity(plan)) as reader:
            return facts_at(discovery.load_catalog(reader).find_kind(gvk), path)
    except ApplyVizError:
        return None


def list_past(plan: Plan, row: ObjectChange, path: FieldPath) -> Iterator[PastMove]:
    """What the last runs on the cluster did to the field, the latest first; runs that left it alone are passed over."""
    results = (
        ObjectResult.objects.filter(
            run__plan__target__cluster=plan.target.cluster,
            change__group=row.group,
            change__kind=row.kind,
            change__namespace=row.namespace,
            change__name=row.name,
            outcome__in=(Outcome.VERIFIED, Outcome.DIFFERS),
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
