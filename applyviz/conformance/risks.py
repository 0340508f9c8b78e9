"""Family `risks`: a risk is there exactly where its fact is, shown by live, after, the answers and a second apply.

Each predicate is independent of the rule that raises the risk. False and missing risks both count.

Exceptions: of a refused object only the risks that explain a refusal are judged, and only where the server names their
cause; it may stop at another error. A patch that only repeats the order of entries is no repetition, and with a
directive of a patch in the manifest it is not judged: kubectl may refuse its next apply. Kinds without a
predicate are judged elsewhere or not yet: `tests/conformance/unjudged.py` says which and why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from msgspec import Struct

from applyviz.conformance import (
    covering,
    fixed,
    job_pods,
    later_endings,
    object_facts,
    reachable,
    renumbered,
    repetition,
    risk_facts,
    traffic,
)
from applyviz.conformance.cases import CaseResult
from applyviz.conformance.covering import NOTHING
from applyviz.conformance.endings import is_gone
from applyviz.conformance.inputs import Planned
from applyviz.conformance.meaning import means
from applyviz.conformance.shown import ShownObject
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyMode
from applyviz.engine.schema.topology import of_root
from applyviz.engine.schema.walk import list_leaves
from applyviz.kubernetes.parity.equality import find_topology, is_equal

FAMILY = "risks"
# Of a refused object nothing is written, so only the risks that explain a refusal are judged.
_OF_REFUSALS = frozenset(
    {
        *("immutable-field", "unknown-field", "defaulted-sibling", "invalid-entry", "annotation-too-long"),
    }
)
# What only an answer of the server shows, so that no refused object has it.
_OF_ANSWERS = frozenset({"null-defaults-again", "admission-changed", "order-churn", "secret-content"})
_TEMPLATE = ("spec", "template")
_ROLLED = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
_IMMUTABLE = re.compile(
    r"immutable|updates? to \S+ (spec )?for fields other than|may not change|cannot change|"
    r"field can not be|may not be (changed|updated)|is forbidden after creation|self == oldSelf"
)
_SIBLING = re.compile(
    r"rollingUpdate: (Forbidden|Invalid value)|only allowed for updateStrategy|may not be specified when strategy"
)
_DIRECTIVE = re.compile(r'"\$(patch|retainKeys|(setElementOrder|deleteFromPrimitiveList)/[^"]*)":')
# A directive that the server could not merge is no field of the manifest.
_UNKNOWN = re.compile(r'unknown field "(?![^"]*\$)|field not declared in schema')
_BY_KIND: Mapping[str, tuple[str, ...]] = {
    "rbac": ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"),
    "crd": ("CustomResourceDefinition",),
    "api-service": ("APIService",),
    "namespace": ("Namespace",),
    "webhook": tuple(
        f"{how}{what}"
        for how in ("Mutating", "Validating")
        for what in ("WebhookConfiguration", "AdmissionPolicy", "AdmissionPolicyBinding")
    ),
}
_REACHING = frozenset(kind for kinds in _BY_KIND.values() for kind in kinds)
# The built-in kinds about which kube-apiserver v1.36.3 warns.
_ANNOUNCED = frozenset({("v1", "Endpoints"), ("v1", "ComponentStatus")})
_TOO_LONG = "must have at most 262144 bytes"
_OF_ENDINGS = frozenset({"prune", "terminating"})
_EMPTY: tuple[JSONValue, ...] = (None, {}, [], "")
_WRITTEN = [(f"f:{name}",) for name in ("labels", "annotations", "finalizers", "ownerReferences")]


def _is_of_server(path: FieldPath) -> bool:
    """Whether the server, or kubectl, writes a field in place of the manifest."""
    if path[0] == "f:metadata":
        return path[1:2] not in _WRITTEN or path[2:3] == (f"f:{LAST_APPLIED}",)
    return path[0] in ("f:status", "f:stringData")


class Facts(Struct, frozen=True, dict=True):  # the dict holds cached properties
    """The facts about one planned object."""

    planned: Planned

    @property
    def live(self) -> JSONObject | None:
        """The object before."""
        return self.planned.change.versions.live

    @property
    def after(self) -> JSONObject:
        """The object after the apply, {} without one."""
        versions = self.planned.change.versions
        return versions.after if versions.after is not None else versions.live or {}

    @property
    def manifest(self) -> JSONObject:
        """The manifest, {} without one."""
        return self.planned.change.versions.manifest or {}

    @property
    def refusal(self) -> str:
        """What the server says against the object, "" if it accepts it."""
        change = self.planned.change
        return " ".join((change.error, *(error.message for error in change.server_errors)))

    @property
    def names_unknown(self) -> bool:
        """Whether the server names a field that the kind does not have; another version of the kind does not count."""
        return bool(_UNKNOWN.search(self.refusal)) and "failed to convert" not in self.refusal

    @cached_property
    def records_directive(self) -> bool:
        """Whether a client-side apply changes the object, and records a directive of a patch as last applied."""
        is_patch = self.planned.mode is ApplyMode.CLIENT and self.live is not None
        record = get_at(self.after, ("metadata", "annotations", LAST_APPLIED), None) or "{}"
        return is_patch and self.is_written and _DIRECTIVE.search(record) is not None

    @property
    def is_refused(self) -> bool:
        """Whether nothing is written."""
        return self.planned.change.operation is Operation.ERROR

    @cached_property
    def ends(self) -> bool:
        """Whether the object is gone after a write that is no deletion."""
        return is_gone(self.planned)

    @property
    def is_written(self) -> bool:
        """Whether a request is sent."""
        return self.planned.change.has_effect

    @cached_property
    def moves(self) -> bool:
        """Whether a value differs, beside the records of server and kubectl."""
        return self.is_written and (self.live is None or repetition.moves(self.planned, self.live, self.after))

    @property
    def moves_back(self) -> bool:
        """Whether this manager or kubectl applied the live object server-side: its entry is what was last applied."""
        entries = get_at(self.live, ("metadata", "managedFields"), None) or ()
        ours = {"kubectl", self.planned.options.field_manager}
        applied = (e for e in entries if e.get("operation") == "Apply" and not e.get("subresource"))
        return any(e.get("manager") in ours for e in applied)

    @property
    def namespace(self) -> str:
        """The namespace that a change reaches: that of the object, or the object itself."""
        return self.planned.change.ref.name if self.gvk.kind == "Namespace" else self.planned.change.ref.namespace

    @property
    def is_cluster_wide(self) -> bool:
        """Whether the object is cluster-scoped and its kind has no risk that replaces this one."""
        resource = self.planned.given.catalog.find_resource(self.gvk)
        return resource is not None and not resource.is_namespaced and self.gvk.kind not in _REACHING

    @property
    def version(self) -> JSONObject:
        """The version of the definition of a custom kind, {} for other kinds."""
        for definition in self.planned.given.definitions:
            spec = definition.get("spec") or {}
            if (spec.get("group"), get_at(spec, ("names", "kind"))) == (self.gvk.group, self.gvk.kind):
                return next((v for v in spec.get("versions") or () if v.get("name") == self.gvk.version), {})
        return {}

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind of the object."""
        return self.planned.change.ref.gvk

    @cached_property
    def rolls(self) -> bool:
        """Whether the pod template of a workload whose pods stay differs, after defaults, or its pods stop with it."""
        if self.gvk.group != "apps" or self.gvk.kind not in _ROLLED or self.live is None or self.is_refused:
            return False
        old, new = (get_at(obj, _TEMPLATE, None) for obj in (self.live, self.after))
        counted = ("status", "desiredNumberScheduled") if self.gvk.kind == "DaemonSet" else ("spec", "replicas")
        at = find_topology("apps/v1", self.gvk.kind, *_TEMPLATE)
        # The others compare spellings.
        is_same = is_equal(old, new, at) if self.gvk.kind == "Deployment" else is_same_json(old, new)
        has_pods = get_at(self.live, counted, 1) != 0 and get_at(self.after, ("spec", "replicas"), 1) != 0
        if self.gvk.kind == "StatefulSet" and self.planned.change.operation is not Operation.REPLACE:
            has_pods = renumbered.count_staying(self.live, self.after) > 0
        return has_pods and (self.planned.change.operation is Operation.REPLACE or not is_same)

    @cached_property
    def waits(self) -> bool:
        """Whether pods keep their template: the workload is paused, waits for deletions, or excludes all pods."""
        partition = get_at(self.after, ("spec", "updateStrategy", "rollingUpdate", "partition"), 0)
        is_set = self.gvk.kind == "StatefulSet" and isinstance(partition, int)
        is_excluded = is_set and renumbered.leaves_all(self.live, self.after, partition)
        is_deleted_first = get_at(self.after, ("spec", "updateStrategy", "type"), "") == "OnDelete"
        return is_excluded or is_deleted_first or get_at(self.after, ("spec", "paused"), False) is True

    @cached_property
    def repeats(self) -> bool:
        """Whether a patch is sent, and later applies of the same manifest by kubectl send one that changes nothing.

        - If nothing is sent because nothing would change, later applies send nothing either.
        """
        is_patched = self.planned.mode is ApplyMode.CLIENT and self.live is not None and self.is_written
        return is_patched and repetition.is_sent_again(self.planned)

    @cached_property
    def is_changed_by_server(self) -> bool:
        """Whether the manifest sets a value, and the result has another one that does not mean the same.

        - Several entries of one name are one value, and merge before the server sees them.
        """
        if self.is_refused or self.planned.change.operation is Operation.BLOCKED:
            return False
        root = self.planned.kind.root if self.planned.kind else None
        leaves, merged = list_leaves(root, self.manifest), self.planned.change.versions.merged or {}
        topology = of_root(root)
        return any(
            not _is_of_server(path)
            and (path[-1][0] == "f" or isinstance(value, Mapping))
            and value is not None
            and means(value, covering.find(merged, path), topology, path)
            and not means(value, covering.find(self.after, path), topology, path)
            for path, value in leaves.items()
            if path
        )

    @cached_property
    def is_defaulted_again(self) -> bool:
        """Whether an existing object keeps a value that no other manager owns where the manifest has null."""
        root = self.planned.kind.root if self.planned.kind else None
        leaves = ((path, value) for path, value in list_leaves(root, self.manifest).items() if path)
        own = ((p, v) for p, v in leaves if p[0] not in ("f:metadata", "f:status") and not self._is_kept(p))
        return self.live is not None and any(_fills_null(v, covering.find(self.after, path)) for path, v in own)

    def _is_kept(self, path: FieldPath) -> bool:
        """Return whether a server-side apply keeps a value for the manager that owns it."""
        return self.planned.mode is ApplyMode.SERVER and object_facts.holds_of_others(self.planned, self.after, path)

    @property
    def ignores_status(self) -> bool:
        """Whether the manifest has a status with a value that the object does not have afterwards."""
        if self.planned.kind is None or not self.planned.kind.has_status or self.is_refused:
            return False
        leaves = list_leaves(None, {"status": self.manifest.get("status")})
        return any(
            value not in _EMPTY and _differ(value, covering.find(self.after, path)) for path, value in leaves.items()
        )

    @property
    def ignores_record(self) -> bool:  # whether a manifest has a record of kubectl, which no request sends
        is_other = self.planned.mode is ApplyMode.SERVER and self.planned.options.field_manager != SERVER_SIDE_MANAGER
        return not is_other and LAST_APPLIED in (get_at(self.manifest, ("metadata", "annotations"), None) or {})

    @cached_property
    def shares_keys(self) -> bool:
        """Whether an entry goes that the manifest has, with its keys, although it was there before."""
        if self.planned.mode is ApplyMode.SERVER or self.live is None or not self.is_written:
            return False
        wanted, before, after = (self._list_entries(obj) for obj in (self.manifest, self.live, self.after))
        return bool(wanted & before - after)

    def _list_entries(self, obj: JSONObject) -> set[FieldPath]:
        root = self.planned.kind.root if self.planned.kind else None
        paths = list_leaves(root, obj)
        return {path[:n] for path in paths for n, element in enumerate(path, 1) if element[0] == "k"}


def _fills_null(wanted: JSONValue, found: JSONValue) -> bool:
    """Return whether a value stands where the manifest has a null, also in a map or list that has one owner."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and any(_fills_null(v, found.get(n, NOTHING)) for n, v in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(wanted) == len(found) and any(map(_fills_null, wanted, found))
    return wanted is None and found is not NOTHING and found not in (*_EMPTY, "0")


def _differ(wanted: JSONValue, found: JSONValue) -> bool:
    return found is NOTHING or not is_same_json(wanted, found)


def _holds_kind(kinds: tuple[str, ...]) -> Predicate:
    return lambda facts: facts.gvk.kind in kinds and facts.moves


def _changes_traffic(judge: traffic.Judge) -> Predicate:
    return lambda f: (
        (f.gvk.group, f.gvk.kind) == ("networking.k8s.io", "NetworkPolicy")
        and any(judge(name, f.live, f.after) for name in ("ingress", "egress"))
    )


Predicate: TypeAlias = Callable[[Facts], bool]
PREDICATES: Mapping[str, Predicate] = {
    "immutable-field": lambda f: f.is_refused and f.live is not None and bool(_IMMUTABLE.search(f.refusal)),
    "unknown-field": lambda f: f.names_unknown if f.is_refused else f.records_directive,
    "pods-restart": lambda f: f.rolls and not f.waits,
    "template-waits": lambda f: f.rolls and f.waits,
    "repeating-patch": lambda f: f.repeats,
    "admission-changed": lambda f: f.is_changed_by_server,
    "secret-content": lambda f: (
        f.gvk.kind == "Secret"
        and f.is_written
        and not is_same_json(get_at(f.live, ("data",), None) or {}, get_at(f.after, ("data",), None) or {})
    ),
    "no-last-applied": lambda f: (
        f.planned.mode is ApplyMode.CLIENT
        and f.live is not None
        and LAST_APPLIED not in (get_at(f.live, ("metadata", "annotations"), None) or {})
        and not f.moves_back
    ),
    "null-defaults-again": lambda f: f.is_defaulted_again,
    "status-ignored": lambda f: f.ignores_status,
    "record-ignored": lambda f: f.ignores_record,
    "shared-merge-key": lambda f: f.shares_keys,
    "defaulted-sibling": lambda f: f.is_refused and f.live is not None and bool(_SIBLING.search(f.refusal)),
    **{slug: _changes_traffic(judge) for slug, judge in traffic.CHANGES.items()},
    "terminating": lambda f: "deletionTimestamp" in (get_at(f.live, ("metadata",), None) or {}),
    "container-restarts": lambda f: object_facts.restarts_container(f.planned),
    "job-pods-deleted": lambda f: job_pods.deletes_job_pods(f.planned),
    "ends-objects": lambda f: later_endings.ends_objects(f.planned),
    "pods-renumbered": lambda f: renumbered.renumbers_pods(f.planned),
    "address-lost": lambda f: f.gvk.kind == "Service" and f.is_written and object_facts.gives_up_address(f.planned),
    "exposed": lambda f: reachable.opens_service(f.planned),
    "endpoints-stay": lambda f: reachable.keeps_endpoints(f.planned),
    "endpoints-replaced": lambda f: reachable.replaces_endpoints(f.planned),
    "class-changes": lambda f: reachable.changes_class(f.planned),
    "gains-owner": lambda f: f.is_written and object_facts.gains_owner(f.live, f.after),
    "injected-value": lambda f: object_facts.overwrites_bundle(f.planned),
    "removal-without-effect": lambda f: object_facts.removes_in_vain(f.planned),
    "removal-will-not-happen": lambda f: object_facts.leaves_to_others(f.planned),
    "invalid-entry": lambda f: object_facts.holds_invalid_entry(f.planned),
    "order-churn": lambda f: object_facts.reorders(f.planned),
    "duplicate-merge-key": lambda f: object_facts.repeats_entries(f.planned),
    "atomic-list-replaced": lambda f: object_facts.replaces_list_of_others(f.planned),
    "annotation-too-long": lambda f: f.is_refused and _TOO_LONG in f.refusal,
    "cluster-scoped": lambda f: f.is_cluster_wide and f.moves,
    "kube-system": lambda f: f.namespace.startswith("kube-") and f.moves,
    "deprecated-version": lambda f: (
        f.version.get("deprecated") is True
        or f.version.get("served") is False
        or (f.gvk.api_version, f.gvk.kind) in _ANNOUNCED
    ),
    **{kind: _holds_kind(kinds) for kind, kinds in _BY_KIND.items()},
}
"""When an object has a risk of a kind, by its slug: a judge knows no rule."""


def judge(planned: Planned, shown: ShownObject) -> CaseResult:
    """Return the verdict on the risks of one object; those of a blocked one are known only without its conflicts."""
    is_open = planned.change.operation is Operation.BLOCKED
    raised, judged = {risk.kind.slug for risk in planned.change.risks}, list[str]()
    wrong = [] if is_open else list(find_wrong(Facts(planned), raised, judged))
    if planned.change.operation is Operation.ERROR:
        wrong += fixed.find_free(planned)
    wrong += risk_facts.find_untrue(planned)
    return CaseResult(FAMILY, planned.name, not wrong, "; ".join(wrong), claims=len(judged))


def find_wrong(facts: Facts, raised: set[str], judged: list[str] | None = None) -> Iterator[str]:
    """Yield each kind of risk that is missing or false; an object that is gone has those of a deletion.

    - `judged` gets each kind of which the facts say whether the risk is there.
    """
    if facts.ends or "prune" in raised:
        yield from (f"{kind} is missing" for kind in _OF_ENDINGS - raised)
        if not facts.ends:
            yield "prune is false"
        return
    if facts.is_refused:
        yield from (f"{kind} is false" for kind in sorted(_OF_ANSWERS & raised))
    for kind, predicate in PREDICATES.items():
        if facts.is_refused and kind not in _OF_REFUSALS:
            continue
        if kind == "repeating-patch" and facts.records_directive:
            continue
        is_so = predicate(facts)
        if facts.is_refused and not is_so:
            continue  # a server that stops at another error does not say
        if judged is not None:
            judged.append(kind)
        if is_so is not (kind in raised):
            yield f"{kind} is {'missing' if is_so else 'false'}"
