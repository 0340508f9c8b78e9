"""A risk as data: its kind, its path, and the facts for its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.references.resolving import Knowledge
from applyviz.engine.risks.containers import Container, list_containers
from applyviz.engine.risks.quota_reads import LiveQuotas
from applyviz.engine.schema.model import KindSchema


class RiskLevel(StrEnum):
    """The level of a risk; approvers must open and acknowledge a high one."""

    INFO = "info"
    MEDIUM = "medium"
    HIGH = "high"


class RiskKind(StrEnum):
    """The closed list of risks, for pages, acknowledgment, policies and counts; `risks/sentences.py` has their text.

    - `MANY_OBJECTS` is a risk of a whole plan: the policy says from which number on.
    """

    NO_LAST_APPLIED = "no-last-applied"
    REMOVAL_WILL_NOT_HAPPEN = "removal-will-not-happen"
    REMOVAL_WITHOUT_EFFECT = "removal-without-effect"
    STATUS_IGNORED = "status-ignored"
    OPEN_POLICY = "open-policy"
    EXPOSED = "exposed"
    INJECTED_VALUE = "injected-value"
    INVALID_ENTRY = "invalid-entry"
    DEFAULTED_SIBLING = "defaulted-sibling"
    NULL_DEFAULTS_AGAIN = "null-defaults-again"
    IMMUTABLE_FIELD = "immutable-field"
    AUTOSCALED_FIELD = "autoscaled-field"
    DUPLICATE_MERGE_KEY = "duplicate-merge-key"
    SHARED_MERGE_KEY = "shared-merge-key"
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
    PRUNE_CHANGED = "prune-changed"
    RBAC_CHANGED = "rbac"
    CRD_CHANGED = "crd"
    API_SERVICE_CHANGED = "api-service"
    ADMISSION_RULES_CHANGED = "webhook"
    NAMESPACE_CHANGED = "namespace"
    CLUSTER_SCOPED = "cluster-scoped"
    SYSTEM_NAMESPACE = "kube-system"
    DELETED = "prune"
    REPLACED = "replace"
    FORCED = "force"
    OWNERSHIP_MOVED = "ownership-moved"
    MANY_OBJECTS = "many-objects"
    SECRET_CONTENT = "secret-content"
    INVISIBLE_CHARACTERS = "invisible-characters"
    ADMISSION_CHANGED = "admission-changed"
    WEBHOOK_WITHOUT_DRY_RUN = "webhook-without-dry-run"
    PODS_RESTART = "pods-restart"
    TEMPLATE_WAITS = "template-waits"
    CONVERSION_NOT_ASKED = "conversion-not-asked"
    DANGLING_REFERENCE = "dangling-reference"
    MISSING_KEY = "missing-key"
    MISSING_PORT = "missing-port"
    MATCHES_NOTHING = "matches-nothing"
    STALE_PODS = "stale-pods"
    NO_EVICTION = "no-eviction"
    UNREAD_KEY = "unread-key"
    DEPENDENTS = "dependents"
    DATA_LOST = "data-lost"
    ADDRESS_LOST = "address-lost"
    FINALIZERS = "finalizers"
    TERMINATING = "terminating"
    UNFILED_DATA = "unfiled-data"
    IN_USE = "in-use"
    REFERS_TO_LEFT_OUT = "left-out-reference"
    QUOTA_EXCEEDED = "quota"
    HELM_HOOK = "helm-hook"
    PATCHES_APPLIED = "patches-applied"
    UNKNOWN_EDITORS = "unknown-editors"
    ADDON_SKIPPED = "addon-skipped"
    CRITICAL_KIND = "critical-kind"
    NEEDS_ROLLING_UPDATE = "needs-rolling-update"


@dataclass(frozen=True, slots=True)
class Risk:
    """One risk of one object; `facts` fill its sentence and never hold values of Secrets."""

    kind: RiskKind
    level: RiskLevel
    path: FieldPath = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    position: SourcePosition = field(default_factory=SourcePosition)


@dataclass(frozen=True)  # no slots: the index is cached
class RelatedObjects:
    """The other objects that rules may read: the manifests of the set, and live objects.

    - `manifests`: every object of the set, including the subject itself (HPA, PDB, Namespace, CRD …).
    - `live`: live objects that the planner has read, mostly autoscalers.
    - `neighbors`: live objects that references lead to or come from, without the values of ConfigMaps and Secrets;
      `knowledge` says which other objects do not exist.
    - `quotas`: the live quotas of the namespaces in which the set runs pods.
    """

    manifests: tuple[JSONObject, ...] = ()
    live: tuple[JSONObject, ...] = ()
    neighbors: tuple[JSONObject, ...] = ()
    knowledge: Knowledge = field(default_factory=Knowledge)
    quotas: LiveQuotas = field(default_factory=LiveQuotas)

    @cached_property
    def _by_kind(self) -> Mapping[str, tuple[JSONObject, ...]]:
        found: dict[str, list[JSONObject]] = {}
        for obj in (*self.manifests, *self.live):
            found.setdefault(str(obj.get("kind")), []).append(obj)
        return {kind: tuple(objects) for kind, objects in found.items()}

    def of_kind(self, kind: str) -> tuple[JSONObject, ...]:
        """Return all objects of one kind, manifests before live objects."""
        return self._by_kind.get(kind, ())

    @cached_property
    def live_names(self) -> frozenset[tuple[str, str]]:
        """The kind and name of every known live object."""
        return frozenset((str(o.get("kind")), str((o.get("metadata") or {}).get("name"))) for o in self.live)

    @cached_property
    def namespaces(self) -> frozenset[str]:
        """The names of the namespaces among the manifests."""
        spaces = (o for o in self.manifests if o.get("kind") == "Namespace")
        return frozenset(str((o.get("metadata") or {}).get("name")) for o in spaces)


@dataclass(frozen=True)  # no slots: the containers are cached
class RiskSubject:
    """The change of one object as the rules see it; every field but `ref` may be missing.

    - `manifest`, `last_applied`, `live`, `merged`, `after`: the versions, with managedFields where the server has them;
      `after` falls back to `merged` if no later stage is known.
    - `patch`: the body of the client-side patch to send (None: create, or server-side).
    - `kind`: None if no schema knows the kind.
    - `document`: the parsed manifest document (positions, retyped values, duplicate keys).
    - `applyset`: id of the ApplySet that this plan applies to, "" if none.
    - `resource_versions`: apiVersions of this group that the cluster serves; () if unknown.
    - `taken_managers`: field managers whose Update entries this one takes over before it applies.
    - `is_merge_only`: the server refused the object or left it alone, so `merged` was not completed by defaults;
      `refused_fields`: the fields that the server names; `is_unchanged`: nothing is written.
    - `plural`: the resource's name; `dry_run_answer`: why the server's dry run gave no result, "" if it did.
    """

    ref: ObjectRef
    manifest: JSONObject | None = None
    last_applied: JSONObject | None = None
    live: JSONObject | None = None
    merged: JSONObject | None = None
    after: JSONObject | None = None
    patch: JSONValue = None
    is_server_side: bool = True
    field_manager: str = ""
    is_namespaced: bool = True
    kind: KindSchema | None = None
    document: ManifestDocument | None = None
    related: RelatedObjects = field(default_factory=RelatedObjects)
    applyset: str = ""
    resource_versions: tuple[str, ...] = ()
    plural: str = ""
    taken_managers: tuple[str, ...] = ()
    dry_run_answer: str = ""
    is_merge_only: bool = False
    refused_fields: tuple[str, ...] = ()
    is_unchanged: bool = False

    @property
    def result(self) -> JSONObject | None:
        """The last known version of what the object will be."""
        return self.merged if self.after is None else self.after

    @cached_property
    def containers(self) -> tuple[Container, ...]:
        """Every list and mapping of the manifest, from the top down; () without a manifest."""
        if self.manifest is None:
            return ()
        return list_containers(self.manifest, self.kind.root if self.kind is not None else None)
