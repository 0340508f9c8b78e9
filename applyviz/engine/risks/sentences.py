"""One plain sentence per risk, filled in with its facts, and a short title per kind.

The sentences are for people who know YAML and not the merge rules; facts never contain values of Secrets, so no
sentence does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from applyviz.engine.objects.paths import render_path
from applyviz.engine.risks.advice import ADVICE, Advice
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel

Facts: TypeAlias = Mapping[str, str]
Templates: TypeAlias = tuple[str, ...]

_TITLES: dict[RiskKind, str] = {
    RiskKind.NO_LAST_APPLIED: "No last-applied annotation: removals are ignored",
    RiskKind.REMOVAL_WILL_NOT_HAPPEN: "Removal will not happen",
    RiskKind.DEFAULTED_SIBLING: "A default blocks the change",
    RiskKind.NULL_DEFAULTS_AGAIN: "Cleared field comes back",
    RiskKind.IMMUTABLE_FIELD: "Immutable field changes",
    RiskKind.AUTOSCALED_FIELD: "Replicas managed by an autoscaler",
    RiskKind.DUPLICATE_MERGE_KEY: "Duplicate merge key",
    RiskKind.ORDER_CHURN: "Only the order changes",
    RiskKind.REPEATING_PATCH: "Patch repeats at every apply",
    RiskKind.ATOMIC_LIST_REPLACED: "List replaced entirely",
    RiskKind.TOPOLOGY_CHANGED: "Schema changed since the last apply",
    RiskKind.RETYPED_VALUE: "Value re-typed by YAML",
    RiskKind.DUPLICATE_KEY: "Duplicate key",
    RiskKind.UNKNOWN_FIELD: "Unknown field",
    RiskKind.DEPRECATED_VERSION: "Deprecated or removed API version",
    RiskKind.CREATED_IN_SAME_SET: "Depends on another object in this set",
    RiskKind.ANNOTATION_TOO_LONG: "Annotations too long",
    RiskKind.BELONGS_TO_OTHER: "Managed by another tool",
    RiskKind.PRUNE_SHARE: "Prunes a large share of the set",
    RiskKind.RBAC_CHANGED: "RBAC changes",
    RiskKind.CRD_CHANGED: "CRD schema changes",
    RiskKind.API_SERVICE_CHANGED: "API service changes",
    RiskKind.ADMISSION_RULES_CHANGED: "Admission policy or webhook changes",
    RiskKind.NAMESPACE_CHANGED: "Namespace changes",
    RiskKind.CLUSTER_SCOPED: "Cluster-scoped object",
    RiskKind.SYSTEM_NAMESPACE: "In a system namespace",
    RiskKind.DELETED: "Object deleted",
    RiskKind.REPLACED: "Replaced (delete and re-create)",
    RiskKind.FORCED: "Fields forced (force-conflicts)",
    RiskKind.MANY_OBJECTS: "Large change",
    RiskKind.SECRET_CONTENT: "Secret content changes",
    RiskKind.INVISIBLE_CHARACTERS: "Invisible characters",
    RiskKind.ADMISSION_CHANGED: "The server changed a value",
    RiskKind.WEBHOOK_WITHOUT_DRY_RUN: "Webhook does not support dry run",
    RiskKind.PODS_RESTART: "Pods restart",
    RiskKind.CONVERSION_NOT_ASKED: "Conversion not verified",
    RiskKind.DANGLING_REFERENCE: "Referenced object is missing",
    RiskKind.MISSING_KEY: "Referenced key is missing",
    RiskKind.MISSING_PORT: "Referenced port is missing",
    RiskKind.MATCHES_NOTHING: "Selector matches no pod",
    RiskKind.STALE_PODS: "Running pods keep old values",
    RiskKind.NO_EVICTION: "No eviction allowed",
    RiskKind.UNREAD_KEY: "Changed key is not read",
}
# A workload that is not updated pod by pod stops first.
_LOUD_TITLES = {RiskKind.PODS_RESTART: "Downtime"}


def _retyped(f: Facts) -> Templates:
    role = "The key" if f.get("role") == "key" else "The value"
    quote = ADVICE[Advice.QUOTE]
    if not f.get("text"):
        return (role + " is not parsed as written ({what}).", quote)
    if f["what"] == "date":
        return (role + " {text} looks like a date, and kubectl keeps it as text.", ADVICE[Advice.QUOTE_DATE])
    if f.get("takes") == "number":
        return (role + " {text} is read as {value} ({what}), in a field that takes a number.",)
    return (role + " {text} is read as {value} ({what}).", quote)


def _version(f: Facts) -> Templates:
    instead = (ADVICE[Advice.USE_VERSION],) if f.get("instead") else ()
    if f["state"] == "not-served":
        return ("The cluster does not serve {kind} of {version}.", *instead)
    if f["state"] == "removed":
        return ("{version} {kind} was removed in Kubernetes {since}.", *instead)
    # A definition can name its own replacement.
    return ("{version} {kind} is deprecated.", *(("{note}",) if f.get("note") else instead))


def _prune(f: Facts) -> Templates:
    if "what" in f:
        return ("Prune would delete {what} and everything in it or dependent on it.",)
    return ("Prune would delete {pruned} of the {members} live objects of this set.",)


_RESTARTS = {
    "": "All pods restart because the pod template changes: ",
    "1": "{pods} pod restarts because the pod template changes: ",
}


def _restart(f: Facts) -> Templates:
    pods = _RESTARTS.get(f.get("pods", ""), "{pods} pods restart because the pod template changes: ")
    if f.get("strategy") == "Recreate":
        return (pods + "all pods stop before new ones start (strategy Recreate).",)
    return (pods + "rolling update.",)


_SIBLING = {
    "null": Advice.SIBLING_NULL,
    "remove": Advice.SIBLING_REMOVE,
    "own": Advice.SIBLING_OWN,
    "replace": Advice.SIBLING_REPLACE,
}
_REPLICAS = {
    "": Advice.REPLICAS_OMIT,
    "new": Advice.REPLICAS_OMIT_NEW,
    "hand over": Advice.REPLICAS_HAND_OVER,
    "forget": Advice.REPLICAS_FORGET,
}


def _autoscaled(f: Facts) -> Templates:
    advice = ADVICE[_REPLICAS[f["step"]]]
    if "reset" in f:
        first = "{scaler} scales this object, and the manifest no longer sets replicas: "
        first += "the field is removed." if f["reset"] == "unset" else "it falls from {live} to {reset}."
        return (first, ADVICE[Advice.REPLICAS_KEEP], advice)
    live = ("It is {live} now.",) if f.get("live") else ()
    return ("{scaler} scales this object, but the manifest also sets replicas: {wanted}.", *live, advice)


def _topology(f: Facts) -> Templates:
    outcome = {
        "granular to atomic": "managers that own parts of it now conflict over the whole",
        "atomic to granular": "removed entries are kept, and other managers can add entries",
    }
    return ("{manager} owns this under an older schema ({change}): " + outcome[f["change"]] + ".",)


def _conversion(f: Facts) -> Templates:
    if f["how"] == "webhook":
        head = "A webhook converts {kind} between {versions}, and applyviz did not call it"
    else:
        head = "The conversion of {kind} between {versions} is unknown"
    if f["elsewhere"]:
        return (head + ": the estimate assumes that fields owned at {elsewhere} have the same names.",)
    return (head + ": the estimate assumes that all versions have the same fields.",)


_EFFECTS = {
    "start": ": its pods cannot start.",
    "create": ": its pods cannot be created.",
    "pending": ": its pods stay pending.",
    "pull": ": images that need it cannot be pulled.",
    "requests": ": requests to it fail.",
    "call": ": the API server cannot call it.",
    "rights": ": the binding gives it no permissions.",
    "scale": ": nothing is scaled.",
    "budget": ": it protects no pod.",
    "policy": ": it applies to no pod.",
}


def _dangling(f: Facts) -> Templates:
    if f.get("maker"):
        return ("{source} refers to {target}, which does not exist yet; {maker} may create it.",)
    return ("{source} refers to {target}, which does not exist" + _EFFECTS[f["effect"]],)


_SENTENCES: dict[RiskKind, str | Callable[[Facts], Templates]] = {
    RiskKind.NO_LAST_APPLIED: (
        "The live object has no last-applied annotation, so fields that the manifest no longer sets are kept."
    ),
    RiskKind.REMOVAL_WILL_NOT_HAPPEN: ("You no longer set this field, but it stays: {owners} still owns it."),
    RiskKind.DEFAULTED_SIBLING: lambda f: (
        "The server will reject type {type} together with {sibling}.",
        ADVICE[_SIBLING[f["remedy"]]],
    ),
    RiskKind.NULL_DEFAULTS_AGAIN: "{field} is cleared with null, and the server sets its default again.",
    RiskKind.IMMUTABLE_FIELD: lambda f: ("{field} of a {kind} cannot be changed.", ADVICE[Advice.RECREATE]),
    RiskKind.AUTOSCALED_FIELD: _autoscaled,
    RiskKind.DUPLICATE_MERGE_KEY: ("{list} has two entries with the same key ({keys}); the merge treats them as one."),
    RiskKind.ORDER_CHURN: "The {count} entries of {list} only change their order.",
    RiskKind.REPEATING_PATCH: "{field} is sent again at every apply, although nothing changes: {cause}.",
    RiskKind.ATOMIC_LIST_REPLACED: lambda f: (
        "{list} is replaced entirely: {lost} live entry that {owners} wrote is lost."
        if f["lost"] == "1"
        else "{list} is replaced entirely: {lost} live entries that {owners} wrote are lost.",
    ),
    RiskKind.TOPOLOGY_CHANGED: _topology,
    RiskKind.RETYPED_VALUE: _retyped,
    RiskKind.DUPLICATE_KEY: ("{key} appears twice, in lines {first} and {second}; the last one wins silently."),
    RiskKind.UNKNOWN_FIELD: "{kind} has no field {field} here, so strict validation rejects the object.",
    RiskKind.DEPRECATED_VERSION: _version,
    RiskKind.CREATED_IN_SAME_SET: ("The {what} {name} is created by this set, so the dry run is not possible yet."),
    RiskKind.ANNOTATION_TOO_LONG: lambda f: (
        "The annotations have {size} bytes, but the server accepts at most {limit}. The longest is {annotation}.",
        *((ADVICE[Advice.APPLY_SERVER_SIDE],) if f["mode"] == "client-side" else ()),
    ),
    RiskKind.BELONGS_TO_OTHER: "{tool} {name} manages this object and may revert the change.",
    RiskKind.PRUNE_SHARE: _prune,
    RiskKind.RBAC_CHANGED: "{kind} {name} controls permissions.",
    RiskKind.CRD_CHANGED: "CustomResourceDefinition {name} defines the schema of all objects of its kind.",
    RiskKind.API_SERVICE_CHANGED: "APIService {name} determines which server handles its API group.",
    RiskKind.ADMISSION_RULES_CHANGED: "{kind} {name} controls which requests the API server accepts.",
    RiskKind.NAMESPACE_CHANGED: "Changes to Namespace {name} can affect everything in it.",
    RiskKind.CLUSTER_SCOPED: "{kind} {name} is cluster-scoped: it affects the whole cluster.",
    RiskKind.SYSTEM_NAMESPACE: "Kubernetes itself runs in namespace {namespace}.",
    RiskKind.DELETED: "{kind} {name} is deleted.",
    RiskKind.REPLACED: (
        "{kind} {name} is deleted and re-created: it gets a new uid, and anything that exists only in the live "
        "object is lost."
    ),
    RiskKind.FORCED: lambda f: (
        "The request overwrites fields of {owners} (force-conflicts)."
        if f.get("owners")
        else "The request is sent with force-conflicts but overwrites no field of another manager.",
    ),
    RiskKind.MANY_OBJECTS: "{count} objects change in one run; the policy limit for a large change is {limit}.",
    RiskKind.SECRET_CONTENT: "{count} entries of this Secret change: {entries}.",
    RiskKind.INVISIBLE_CHARACTERS: (
        "The text contains characters that are invisible or that reorder the visible text: {characters}."
    ),
    RiskKind.ADMISSION_CHANGED: "The server set {field} to a different value than the manifest.",
    RiskKind.WEBHOOK_WITHOUT_DRY_RUN: ("Webhook {name} does not support dry run, so its changes are unknown."),
    RiskKind.PODS_RESTART: _restart,
    RiskKind.CONVERSION_NOT_ASKED: _conversion,
    RiskKind.DANGLING_REFERENCE: _dangling,
    RiskKind.MISSING_KEY: "{source} reads key {key} of {target}, which has no such key: its pods cannot start.",
    RiskKind.MISSING_PORT: lambda f: (
        "{source} leads to port {key} of {target}, which has no such port" + _EFFECTS[f["effect"]],
    ),
    RiskKind.MATCHES_NOTHING: lambda f: (
        "{source} selects {selector}, and no pod of this set or of the cluster matches" + _EFFECTS[f["effect"]],
    ),
    RiskKind.STALE_PODS: lambda f: (
        "{workloads} reads {keys} only when its pods start, and no restart is planned: they keep the old values."
        if f["count"] == "1"
        else "{workloads} read {keys} only when their pods start, and no restart is planned: they keep the old values.",
    ),
    RiskKind.NO_EVICTION: (
        "{budget} then allows no eviction of the {pods} pods of {workloads}, so draining their nodes waits."
    ),
    RiskKind.UNREAD_KEY: lambda f: (
        "{keys} changes, but no workload reads this key."
        if f["count"] == "1"
        else "{keys} change, but no workload reads these keys.",
    ),
}


def title(kind: RiskKind, level: RiskLevel | None = None) -> str:
    """Return a short title for lists and badges; some kinds have another title at the high level."""
    if level is RiskLevel.HIGH and kind in _LOUD_TITLES:
        return _LOUD_TITLES[kind]
    return _TITLES[kind]


def title_of(risk: Risk) -> str:
    """Return the short title of one risk."""
    return title(risk.kind, risk.level)


def find_templates(risk: Risk) -> Templates:
    """Return the sentences of a risk before its facts are filled in, so that a page can translate them."""
    sentence = _SENTENCES[risk.kind]
    return (sentence,) if isinstance(sentence, str) else sentence(risk.facts)


def describe_risk(risk: Risk, translate: Callable[[str], str] = str) -> str:
    """Return the sentences of a risk, without its field; `translate` gets each template."""
    return " ".join(translate(template).format_map(risk.facts) for template in find_templates(risk))


def render_risk(risk: Risk, translate: Callable[[str], str] = str) -> str:
    """Return the sentences of a risk, preceded by its field if it has one."""
    where, text = render_path(risk.path), describe_risk(risk, translate)
    return f"{where}: {text}" if where else text
