"""Owners of fields: moves, forced fields, patches of what others apply; found by `applyviz/engine/planning`."""

from __future__ import annotations

from applyviz.engine.risks.model import RiskKind, RiskLevel

_MOVES = {
    "handed": "{to} then owns {fields}: this manifest no longer manages it.",
    "forgotten": "last-applied forgets {fields}: applies of this manifest no longer set or remove it.",
    "unlisted": "last-applied forgets {fields}: the next client-side apply of a manifest without it keeps it.",
    "listed": "last-applied then has {fields}: the next client-side apply of a manifest without it removes it.",
    "cleared": (
        "Field ownership of {managers} is lost permanently. No apply conflicts with what they set until they write "
        "again, and the next server-side apply credits the rest to before-first-apply, so that fields dropped later "
        "stay."
    ),
    "taken": "{manager} then owns {fields}, and {source} no longer does.",
    "managers": (
        "{manager} takes over the fields of {source}: what the manifest does not set is removed, unless someone else "
        "owns it."
    ),
}


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
PATCHES_APPLIED = RiskKind(
    "patches-applied",
    "Patches fields that others apply",
    "The patch changes {fields}, which {owners} applied from a manifest: the next apply of that manifest sets the "
    "former values again, or conflicts.",
)
