"""The kinds of risks that the family `risks` does not judge, each with the reason."""

from collections.abc import Mapping

_TEXT = "it is about the text of the file, which no server sees; its cases are in `tests/cases/risks`"
_OTHERS = "it is about other objects of the set or the cluster; its cases are in `tests/cases/references`"
_DELETION = "no input deletes; its cases are in `tests/engine/risks` and `tests/engine/planning`"
_WHOLE = "it is a risk of a whole plan or of a choice of its author"
_EARLIER = "it is about a definition as it was, or about a webhook, and no input has one; cases: `tests/cases/risks`"
UNJUDGED: Mapping[str, str] = {
    **dict.fromkeys(
        ("retyped-value", "duplicate-key", "invisible-characters"),
        _TEXT,
    ),
    **dict.fromkeys(
        (
            *("dangling-reference", "missing-key", "missing-port", "matches-nothing"),
            *("stale-pods", "no-eviction", "unread-key", "quota"),
            *("autoscaled-field", "created-in-same-set", "webhook-without-dry-run"),
        ),
        _OTHERS,
    ),
    **dict.fromkeys(
        (
            *("prune", "replace", "dependents", "data-lost"),
            *("finalizers", "unfiled-data", "prune-share"),
            *("prune-changed", "in-use"),
        ),
        _DELETION,
    ),
    **dict.fromkeys(
        (
            *("many-objects", "unknown-editors", "force", "ownership-moved"),
            *("left-out-reference", "patches-applied", "helm-hook", "belongs-to-other", "nothing-moves"),
            *("addon-skipped", "critical-kind", "needs-rolling-update"),
        ),
        _WHOLE,
    ),
    **dict.fromkeys(("topology-changed", "conversion-not-asked"), _EARLIER),
}
