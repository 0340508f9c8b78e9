"""The kinds of risks that the family `risks` does not judge, each with the reason."""

from collections.abc import Mapping

from applyviz.engine.risks.model import RiskKind

_TEXT = "it is about the text of the file, which no server sees; its cases are in `tests/cases/risks`"
_OTHERS = "it is about other objects of the set or the cluster; its cases are in `tests/cases/references`"
_DELETION = "no input deletes; its cases are in `tests/engine/risks` and `tests/engine/planning`"
_WHOLE = "it is a risk of a whole plan or of a choice of its author"
_EARLIER = "it is about a definition as it was, or about a webhook, and no input has one; cases: `tests/cases/risks`"
UNJUDGED: Mapping[RiskKind, str] = {
    **dict.fromkeys(
        (RiskKind.RETYPED_VALUE, RiskKind.DUPLICATE_KEY, RiskKind.INVISIBLE_CHARACTERS),
        _TEXT,
    ),
    **dict.fromkeys(
        (
            *(RiskKind.DANGLING_REFERENCE, RiskKind.MISSING_KEY, RiskKind.MISSING_PORT, RiskKind.MATCHES_NOTHING),
            *(RiskKind.STALE_PODS, RiskKind.NO_EVICTION, RiskKind.UNREAD_KEY, RiskKind.QUOTA_EXCEEDED),
            *(RiskKind.AUTOSCALED_FIELD, RiskKind.CREATED_IN_SAME_SET, RiskKind.WEBHOOK_WITHOUT_DRY_RUN),
        ),
        _OTHERS,
    ),
    **dict.fromkeys(
        (
            *(RiskKind.DELETED, RiskKind.REPLACED, RiskKind.DEPENDENTS, RiskKind.DATA_LOST),
            *(RiskKind.FINALIZERS, RiskKind.TERMINATING, RiskKind.UNFILED_DATA, RiskKind.PRUNE_SHARE),
            *(RiskKind.PRUNE_CHANGED, RiskKind.IN_USE),
        ),
        _DELETION,
    ),
    **dict.fromkeys(
        (
            *(RiskKind.MANY_OBJECTS, RiskKind.UNKNOWN_EDITORS, RiskKind.FORCED, RiskKind.OWNERSHIP_MOVED),
            *(RiskKind.REFERS_TO_LEFT_OUT, RiskKind.PATCHES_APPLIED, RiskKind.HELM_HOOK, RiskKind.BELONGS_TO_OTHER),
            *(RiskKind.ADDON_SKIPPED, RiskKind.CRITICAL_KIND, RiskKind.NEEDS_ROLLING_UPDATE),
        ),
        _WHOLE,
    ),
    **dict.fromkeys((RiskKind.TOPOLOGY_CHANGED, RiskKind.CONVERSION_NOT_ASKED), _EARLIER),
}
