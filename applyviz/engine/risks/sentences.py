"""One plain sentence per risk, filled in with its facts, and a short title per kind.

The sentences are for people who know YAML and not the merge rules; facts never contain values of Secrets, so no
sentence does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from applyviz.engine.objects.paths import render_path
from applyviz.engine.risks import reach, restart_sentences
from applyviz.engine.risks.advice import ADVICE, Advice
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel
from applyviz.engine.risks.planning import addons
from applyviz.engine.risks.planning.ownership import MOVES
from applyviz.engine.risks.pruning import WEBHOOKS
from applyviz.engine.risks.titles import LOUD_TITLES, TITLES

Facts: TypeAlias = Mapping[str, str]
Templates: TypeAlias = tuple[str, ...]


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


def _kept(f: Facts) -> Templates:
    if f["how"] == "alias":
        return ("You no longer set this field, but it stays: its deprecated alias serviceAccount keeps the value.",)
    if f["how"] == "version":
        return ("You no longer set {entry}, but it stays: autoscaling/v1 cannot set it and keeps it in an annotation.",)
    return ("You no longer set {entry}, but it stays in data: an apply only adds what stringData has.",)


def _version(f: Facts) -> Templates:
    instead = (ADVICE[Advice.USE_VERSION],) if f.get("instead") else ()
    if f["state"] == "not-served":
        return ("The cluster does not serve {version} {kind}.", *instead)
    if f["state"] == "removed":
        return ("{version} {kind} was removed in Kubernetes {since}.", *instead)
    # A definition can name its own replacement.
    return ("{version} {kind} is deprecated.", *(("{note}",) if f.get("note") else instead))


def _prune(f: Facts) -> Templates:
    if f.get("kind") in WEBHOOKS:
        return ("Prune would delete {what}: the API server then accepts requests that it refused or changed.",)
    if "what" in f:
        return ("Prune would delete {what} and everything in it or dependent on it.",)
    return ("Prune would delete {pruned} of the {members} live objects of this set.",)


def _in_use(f: Facts) -> Templates:
    if "volume" not in f:
        meanwhile = "cannot reach them" + (" until it is created again." if f.get("stays") else " by it any more.")
        return ("{kind} {name} has ready endpoints ({count}): clients " + meanwhile,)
    after = {
        "Delete": ", whose reclaim policy is Delete: the volume and its data go with it.",
        "Retain": ", whose reclaim policy is Retain: the data stays, but a new claim does not bind to this volume.",
    }
    return ("{kind} {name} is bound to volume {volume}" + after.get(f["policy"], "."),)


def _belongs(f: Facts) -> Templates:
    outcome = "create it again" if f.get("deleted") else "revert the change"
    return ("{tool} {name} manages this object and may " + outcome + ".",)


def _prune_changed(f: Facts) -> Templates:
    if "folder" in f:
        return (
            "In run {run}, all files of this set were in folder {folder}: objects from other folders count as removed.",
        )
    return ("{choice} was {before} in run {run} and is now {now}, so different objects are pruned.",)


def _deleted(f: Facts) -> Templates:
    if "applyset" in f:
        return ("{kind} {name} is deleted: it is a member of ApplySet {applyset}, and the set no longer contains it.",)
    if "selector" in f:
        return ("{kind} {name} is deleted: it was applied, {selector} selects it, and the set no longer contains it.",)
    return ("{kind} {name} is deleted.",)


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
    if "reset" in f and not f["scaler"]:
        first = "The manifest no longer sets replicas, and nothing else does: "
        first += "the field is removed." if f["reset"] == "unset" else "it drops from {live} to {reset}."
        return (first, ADVICE[Advice.REPLICAS_KEEP], advice)
    if "reset" in f:
        first = "{scaler} scales this object, and the manifest no longer sets replicas: "
        first += "the field is removed." if f["reset"] == "unset" else "it drops from {live} to {reset}."
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


_LEFT = {
    "yes": "it does not change in the cluster.",
    "no": "it does not exist in the cluster.",
    "": "whether it exists in the cluster is unknown.",
}
_ANSWERS = {
    "": "The server set {field} to a different value than the manifest.",
    "kept": "The server keeps {field} as it is: what the manifest sets there has no effect.",
    "left-out": "The server leaves {field} out, although the manifest sets it.",
}
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


def _immutable(f: Facts) -> Templates:
    fixed, back = "{field} of a {kind} cannot be changed.", ADVICE[Advice.PUT_BACK]
    if f.get("loses"):
        return (fixed, back, "Deleting the {kind} loses {loses}.")
    return (fixed, back, ADVICE[Advice.RECREATE])


def _replaced(f: Facts) -> Templates:
    lost = (
        "{kind} {name} is deleted and re-created: it gets a new uid, and anything that exists only in the live "
        "object is lost."
    )
    return (lost, "The server refuses to change {fields}.") if f.get("fields") else (lost,)


def _many(f: Facts) -> Templates:
    found = "{count} objects change in one run; the policy limit for a large change is {limit}."
    return (found, "Secrets count as changed; unchanged ones: {unsure}.") if f.get("unsure") else (found,)


def _dependents(f: Facts) -> Templates:
    unread = ("Not checked, because they could not be listed: {unread}.",) if f.get("unread") else ()
    if f.get("reach") == "namespace":
        return ("Everything in Namespace {name} is deleted with it: currently {objects}.", *unread)
    if f.get("reach") == "kind":
        return ("Every {defined} in the cluster is deleted with its definition: currently {objects}.", *unread)
    if f.get("reach"):
        return ("Objects of any namespace that belong to {kind} {name} are deleted with it; they are not listed.",)
    if f["propagation"] == "Orphan":
        by_count = {"0": (), "1": ("{objects} belongs to {kind} {name} and stays, without an owner.",)}
        return (*by_count.get(f["count"], ("{objects} belong to {kind} {name} and stay, without an owner.",)), *unread)
    by_count = {"0": (), "1": ("{objects} belongs to {kind} {name} and is deleted with it.",)}
    return (*by_count.get(f["count"], ("{objects} belong to {kind} {name} and are deleted with it.",)), *unread)


def _finalizers(f: Facts) -> Templates:
    stays = "{kind} {name} stays until {finalizers} {verb} removed; the run waits up to {seconds} seconds."
    if not f.get("controllers"):
        return (stays,)
    return (stays, "A controller has to remove {controllers}: if none is running, the deletion never ends.")


_SENTENCES: dict[RiskKind, str | Callable[[Facts], Templates]] = {
    RiskKind.NO_LAST_APPLIED: (
        "The live object has no last-applied annotation, so fields that the manifest no longer sets are kept."
    ),
    RiskKind.REMOVAL_WITHOUT_EFFECT: _kept,
    RiskKind.STATUS_IGNORED: (
        "The manifest sets status, which this apply ignores: only the status subresource writes it."
    ),
    RiskKind.OPEN_POLICY: "An empty rule in {direction} allows all traffic, whatever the other rules say.",
    RiskKind.EXPOSED: "Clients outside the cluster can reach Service {name}: {how}, {ports}.",
    RiskKind.INJECTED_VALUE: (
        "The manifest replaces the caBundle that {owners} wrote: calls fail where the certificate does not match it."
    ),
    RiskKind.INVALID_ENTRY: "The entry {entry} of {part} is not {what}, so the server refuses the object.",
    RiskKind.REMOVAL_WILL_NOT_HAPPEN: ("You no longer set this field, but it stays: {owners} still owns it."),
    RiskKind.DEFAULTED_SIBLING: lambda f: (
        "The server will reject type {type} together with {sibling}.",
        ADVICE[_SIBLING[f["remedy"]]],
    ),
    RiskKind.NULL_DEFAULTS_AGAIN: "{field} is cleared with null, and the server sets its default again.",
    RiskKind.IMMUTABLE_FIELD: _immutable,
    RiskKind.AUTOSCALED_FIELD: _autoscaled,
    RiskKind.DUPLICATE_MERGE_KEY: ("{list} has two entries with the same key ({keys}); the merge treats them as one."),
    RiskKind.SHARED_MERGE_KEY: (
        "{entry} is removed although the manifest contains it: the patch removes every entry with {key} {value}."
    ),
    RiskKind.ORDER_CHURN: "The {count} entries of {list} only change their order.",
    RiskKind.REPEATING_PATCH: "{field} is sent again on every later apply, although nothing changes then: {cause}.",
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
        "The annotations take {size} bytes, but the server accepts at most {limit}. The longest is {annotation}.",
        *((ADVICE[Advice.APPLY_SERVER_SIDE],) if f["mode"] == "client-side" else ()),
    ),
    RiskKind.BELONGS_TO_OTHER: _belongs,
    RiskKind.IN_USE: _in_use,
    RiskKind.PRUNE_SHARE: _prune,
    RiskKind.PRUNE_CHANGED: _prune_changed,
    RiskKind.RBAC_CHANGED: reach.describe_permissions,
    RiskKind.CRD_CHANGED: reach.describe_definition,
    RiskKind.API_SERVICE_CHANGED: reach.describe_server,
    RiskKind.ADMISSION_RULES_CHANGED: reach.describe_admission,
    RiskKind.NAMESPACE_CHANGED: reach.describe_namespace,
    RiskKind.CLUSTER_SCOPED: "{kind} {name} is cluster-scoped: it affects the whole cluster.",
    RiskKind.SYSTEM_NAMESPACE: "Kubernetes itself runs in namespace {namespace}.",
    RiskKind.DELETED: _deleted,
    RiskKind.REPLACED: _replaced,
    RiskKind.FORCED: lambda f: (
        "The request overwrites fields of {owners} (force-conflicts)."
        if f.get("owners")
        else "The request is sent with force-conflicts but overwrites no field of another manager.",
    ),
    RiskKind.OWNERSHIP_MOVED: lambda f: (MOVES[f["how"]],),
    RiskKind.MANY_OBJECTS: _many,
    RiskKind.UNKNOWN_EDITORS: "No account matches these editors of the commits: {who}.",
    RiskKind.SECRET_CONTENT: "{count} entries of this Secret change: {entries}.",
    RiskKind.INVISIBLE_CHARACTERS: (
        "The text contains characters that are invisible or that reorder the visible text: {characters}."
    ),
    RiskKind.ADMISSION_CHANGED: lambda f: (_ANSWERS[f["how"]],),
    RiskKind.WEBHOOK_WITHOUT_DRY_RUN: ("Webhook {name} does not support dry run, so its changes are unknown."),
    RiskKind.PODS_RESTART: restart_sentences.restart,
    RiskKind.TEMPLATE_WAITS: restart_sentences.wait,
    RiskKind.PATCHES_APPLIED: (
        "The patch changes {fields}, which {owners} applied from a manifest: the next apply of that manifest sets the "
        "former values again, or conflicts."
    ),
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
    RiskKind.DEPENDENTS: _dependents,
    RiskKind.DATA_LOST: "Deleting {kind} {name} also deletes {what}.",
    RiskKind.ADDRESS_LOST: lambda f: (
        "{kind} {name} gives up {addresses}: clients that keep using it fail."
        if f["stays"] == ""
        else "{kind} {name} gives up {addresses} and gets another one: clients that keep using the old one fail.",
    ),
    RiskKind.FINALIZERS: _finalizers,
    RiskKind.TERMINATING: "{kind} {name} has been terminating since {since}: the run only waits until it is gone.",
    RiskKind.UNFILED_DATA: lambda f: (
        "The live entry {entries} is not in the manifest: applying it again does not restore it."
        if f["count"] == "1"
        else "{count} live entries are not in the manifest: {entries}. Applying it again does not restore them.",
    ),
    RiskKind.QUOTA_EXCEEDED: lambda f: (
        "ResourceQuota/{quota} limits {resource}, and a container sets none: its pods are not created."
        if f["fit"] == "unset"
        else "After apply, {namespace} needs {after} of {resource}, and ResourceQuota/{quota} allows {hard}: "
        "pods beyond it are not created.",
    ),
    RiskKind.HELM_HOOK: lambda f: (
        "Helm runs this object as a hook ({hooks}). It is left out, so nothing runs it."
        if f["left_out"]
        else "Helm runs this object as a hook ({hooks}), and may delete it afterwards. Apply creates it like any other "
        "object, and keeps it.",
    ),
    RiskKind.ADDON_SKIPPED: addons.skip,
    RiskKind.NEEDS_ROLLING_UPDATE: addons.roll,
    RiskKind.CRITICAL_KIND: lambda f: (
        "{kind} {name} is deleted"
        + (" and re-created" if f["operation"] == "replace" else "")
        + ", and policy {policy} counts "
        + ("it, or what goes with it, as critical." if f["reach"] else "its kind as critical."),
    ),
    RiskKind.REFERS_TO_LEFT_OUT: lambda f: (
        "{kind} {name} refers to {target}, which is left out: " + _LEFT[f["exists"]],
    ),
}


def title(kind: RiskKind, level: RiskLevel | None = None) -> str:
    """Return a short title for lists and badges; some kinds have another title at the high level."""
    if level is RiskLevel.HIGH and kind in LOUD_TITLES:
        return LOUD_TITLES[kind]
    return TITLES[kind]


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
