"""The hazard as data: a closed kind, where it is, and the facts its sentence needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.paths import FieldPath


class Severity(StrEnum):
    """How loud a hazard is: `danger` must be opened before approval."""

    INFO = "info"
    WARNING = "warning"
    DANGER = "danger"


class HazardKind(StrEnum):
    """The list of `product` hazards; the sentence of each is in `hazards/sentences.py`."""

    NO_LAST_APPLIED = "no-last-applied"
    REMOVAL_WILL_NOT_HAPPEN = "removal-will-not-happen"
    DEFAULTED_SIBLING = "defaulted-sibling"
    NULL_DEFAULTS_AGAIN = "null-defaults-again"
    IMMUTABLE_FIELD = "immutable-field"
    AUTOSCALED_FIELD = "autoscaled-field"
    DUPLICATE_MERGE_KEY = "duplicate-merge-key"
    ORDER_CHURN = "order-churn"
    REPEATING_PATCH = "repeating-patch"
    ATOMIC_LIST_REPLACED = "atomic-list-replaced"
    TOPOLOGY_CHANGED = "topology-changed"
    RETYPED_VALUE = "retyped-value"
    DUPLICATE_KEY = "duplicate-key"
    UNKNOWN_FIELD = "unknown-field"
    DEPRECATED_VERSION = "deprecated-version"
    CREATED_IN_SAME_SET = "created-in-same-set"
    ANNOTATION_TOO_LONG = "annotation-too-long"
    BELONGS_TO_OTHER = "belongs-to-other"
    PRUNE_SHARE = "prune-share"
    CLUSTER_SCOPED = "cluster-scoped"
    SECRET_CONTENT = "secret-content"
    INVISIBLE_CHARACTERS = "invisible-characters"
    ADMISSION_CHANGED = "admission-changed"
    WEBHOOK_WITHOUT_DRY_RUN = "webhook-without-dry-run"
    PODS_RESTART = "pods-restart"


@dataclass(frozen=True, slots=True)
class Hazard:
    """One hazard of one object; `facts` fill its sentence and never hold values of Secrets."""

    kind: HazardKind
    severity: Severity
    path: FieldPath = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    position: SourcePosition = field(default_factory=SourcePosition)
