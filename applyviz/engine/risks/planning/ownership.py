"""Owners of fields: moves, forced fields, patches of what others apply; found by `applyviz/engine/planning`."""

from __future__ import annotations

from applyviz.engine.risks.model import Facts, RiskKind, RiskLevel, Templates

_MOVES = {
    "handed": "{to} then owns {fields}: this manifest no longer manages it.",
    "forgotten": "last-applied forgets {fields}: applies of this manifest no longer set or remove it.",
    "unlisted": "last-applied forgets {fields}: the next client-side apply of a manifest without it keeps it.",
    "listed": "last-applied then has {fields}: the next client-side apply of a manifest without it removes it.",
    "cleared": (
        "Field ownership of {managers} is lost permanently. The next server-side apply credits all fields to "
        "before-first-apply: an apply that changes one of them conflicts with it, and fields dropped later stay."
    ),
    "taken": "{manager} then owns {fields}, and {source} no longer does.",
    "managers": (
        "{manager} takes over the fields of {source}: what the manifest does not set is removed, unless someone else "
        "owns it."
    ),
}


_NOT_MOVED = {
    "server": "No field moves from {managers}: server-side apply takes over what an Update of the object itself set.",
    "client": "No field moves from {managers}: client-side apply takes over what an Apply of the object itself set.",
    "part": (
        "No field moves from {managers}: of kubectl-edit and before-first-apply, server-side apply takes over only "
        "what the manifest sets."
    ),
    "self": "No field moves: {managers} is the field manager of this apply.",
    "named": "No field moves: no entry of {managers} for the object itself names {fields}.",
    "given": "Nothing is handed over: this apply removes no value of {fields}, as this manager is not the only owner.",
    "others": "No field moves: no entry of another manager for the object itself names {fields}.",
}


def _describe_idle(f: Facts) -> Templates:
    """Return why nothing moves, and which managers own how much of the object."""
    owners = "Its fields belong to {owners}." if f.get("owners") else "The object has no managedFields."
    return (_NOT_MOVED[f["how"]], owners)


OWNERSHIP_MOVED = RiskKind("ownership-moved", "Field ownership moves", lambda f: (_MOVES[f["how"]],), policy_order=60)
FORCED = RiskKind(
    "force",
    "Fields forced (force-conflicts)",
    lambda f: (
        "The request overwrites fields of {owners} (force-conflicts)."
        if f.get("owners")
        else "The request is sent with force-conflicts but overwrites no field of another manager.",
    ),
    level=RiskLevel.HIGH,
    policy_order=50,
)
NOTHING_MOVES = RiskKind("nothing-moves", "No field ownership moves", _describe_idle, level=RiskLevel.INFO)
PATCHES_APPLIED = RiskKind(
    "patches-applied",
    "Patches fields that others apply",
    "The patch changes {fields}, which {owners} applied from a manifest: the next apply of that manifest sets the "
    "former values again, or conflicts.",
)
