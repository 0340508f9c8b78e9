"""An object that is being deleted, and a write that leaves nothing its deletion waits for: the object is gone with it.

Rule: `pkg/registry/generic/registry` of k8s.io/apiserver: an update that leaves no finalizer removes an object with a
deletionTimestamp and no grace period left. The server answers with the object as it was written, and stores nothing.
"""

from __future__ import annotations

from applyviz.engine.objects.accessors import map_or_empty
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import Operation, PlannedObject, Versions
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.objects.write_risks import name_object, note_others
from applyviz.engine.requests.members import Member
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.deletions import DELETED, TERMINATING, find_losses, find_terminating, find_unfiled
from applyviz.engine.risks.model import Risk, RiskSubject
from applyviz.engine.risks.rules import find_risks, sort_risks


def ends(live: JSONObject | None, written: JSONObject) -> bool:
    """Return whether a live object is gone once it is written so."""
    metadata = map_or_empty((live or {}).get("metadata"))
    if not metadata.get("deletionTimestamp") or metadata.get("deletionGracePeriodSeconds"):
        return False
    is_namespace = (written.get("apiVersion"), written.get("kind")) == ("v1", "Namespace")
    is_held = get_at(written, ("metadata", "finalizers")) or (is_namespace and get_at(written, ("spec", "finalizers")))
    return not is_held


def end_object(change: PlannedObject) -> PlannedObject:
    """Return a write as the deletion that it ends: no version of the object follows."""
    versions = Versions(change.versions.last_applied, change.versions.manifest, change.versions.live)
    return replace(change, operation=Operation.DELETE, versions=versions, calculation=None)


def note_ended(
    change: PlannedObject, member: Member, *, options: ApplyOptions, context: PlanningContext
) -> PlannedObject:
    """Return the change with the risks of a deletion: what goes, and why this write is what ends it."""
    live, named = change.versions.live or {}, name_object(change.ref)
    subject = RiskSubject(
        change.ref,
        live=live,
        field_manager=options.field_manager,
        is_namespaced=member.resource.is_namespaced,
        kind=member.kind,
        related=context.related,
        applyset=context.applyset,
    )
    others = [risk for risk in find_risks(subject) if risk.kind is not TERMINATING]
    names = [str(name) for name in get_at(live, ("metadata", "finalizers")) or ()]
    facts = {**named, "finalizers": ", ".join(names), "count": str(len(names))}
    released = {**live, "metadata": {n: v for n, v in live["metadata"].items() if n != "finalizers"}}
    risks: list[Risk] = [
        DELETED.at(facts=facts),
        *find_terminating(change.ref, live, "ending"),
        *find_unfiled(named, live, change.versions.manifest or {}),
        *find_losses(change.ref, released, None, is_foreground=False, seconds=options.deletion_seconds),
        *note_others(others, options, is_gone=True),
    ]
    return replace(change, risks=sort_risks(risks))
