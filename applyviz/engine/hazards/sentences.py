"""One plain sentence per hazard, filled with its facts, and a short title per kind.

The words are for people who know YAML and not the merge rules; values of Secrets are never in the facts,
so they are never in a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from applyviz.engine.hazards.model import Hazard, HazardKind, Severity
from applyviz.engine.objects.paths import render_path

Facts: TypeAlias = Mapping[str, str]

_TITLES: dict[HazardKind, str] = {
    HazardKind.NO_LAST_APPLIED: "Nothing can be removed",
    HazardKind.REMOVAL_WILL_NOT_HAPPEN: "Removal will not happen",
    HazardKind.DEFAULTED_SIBLING: "A default blocks the change",
    HazardKind.NULL_DEFAULTS_AGAIN: "Cleared field comes back",
    HazardKind.IMMUTABLE_FIELD: "Immutable field changes",
    HazardKind.AUTOSCALED_FIELD: "An autoscaler sets this",
    HazardKind.DUPLICATE_MERGE_KEY: "Same key twice in a list",
    HazardKind.ORDER_CHURN: "Only the order changes",
    HazardKind.REPEATING_PATCH: "Patch repeats at every apply",
    HazardKind.ATOMIC_LIST_REPLACED: "List replaced whole",
    HazardKind.TOPOLOGY_CHANGED: "Schema changed since the last apply",
    HazardKind.RETYPED_VALUE: "YAML changed a value",
    HazardKind.DUPLICATE_KEY: "Key written twice",
    HazardKind.UNKNOWN_FIELD: "Unknown field",
    HazardKind.DEPRECATED_VERSION: "API version is going or gone",
    HazardKind.CREATED_IN_SAME_SET: "Needs something of this set first",
    HazardKind.ANNOTATION_TOO_LONG: "Annotations too long",
    HazardKind.BELONGS_TO_OTHER: "Belongs to somebody else",
    HazardKind.PRUNE_SHARE: "Prune removes much",
    HazardKind.CLUSTER_SCOPED: "Rights, or the whole cluster",
    HazardKind.SECRET_CONTENT: "Content of a Secret changes",
    HazardKind.INVISIBLE_CHARACTERS: "Unseen characters",
    HazardKind.ADMISSION_CHANGED: "The server changed a value",
    HazardKind.WEBHOOK_WITHOUT_DRY_RUN: "A webhook cannot be rehearsed",
    HazardKind.PODS_RESTART: "Pods restart",
    HazardKind.CONVERSION_NOT_ASKED: "A conversion was not asked",
}
# A workload that is not replaced step by step stops first.
_LOUD_TITLES = {HazardKind.PODS_RESTART: "Stops, then starts again"}
_REACH_TITLES = {
    "access": "Rights change",
    "admission": "Admission changes",
    "definition": "Definition of a kind changes",
    "namespace": "Namespace changes",
    "cluster": "Belongs to the whole cluster",
}
_REACHES = {
    "access": "{kind} {name} decides who may do what.",
    "admission": "{kind} {name} decides what the API server accepts.",
    "definition": "CustomResourceDefinition {name} decides the shape of every object of its kind.",
    "namespace": "Namespace {name} holds everything that is in it.",
    "cluster": "{kind} {name} belongs to the whole cluster.",
}


def _retyped(f: Facts) -> str:
    role = "The key" if f.get("role") == "key" else "The value"
    if not f.get("text"):
        return f"{role} is not read as it is written ({f['what']}); quote it if it is meant as text."
    if f["what"] == "date":
        return f"{role} {f['text']} looks like a date; kubectl keeps it as text, other tools may not: quote it."
    if f.get("takes") == "number":
        return f"{role} {f['text']} is read as {f['value']} ({f['what']}), in a field that takes a number."
    return f"{role} {f['text']} is read as {f['value']} ({f['what']}); quote it if it is meant as text."


def _version(f: Facts) -> str:
    instead = f" Use {f['instead']}." if f.get("instead") else ""
    if f["state"] == "not-served":
        served = f" It serves {f['instead']}." if f.get("instead") else ""
        return f"The cluster does not serve {f['kind']} of {f['version']}.{served}"
    if f["state"] == "removed":
        return f"{f['version']} {f['kind']} was removed in Kubernetes {f['since']}.{instead}"
    return f"{f['version']} {f['kind']} is deprecated.{instead}"


def _prune(f: Facts) -> str:
    if "what" in f:
        return f"Prune would delete {f['what']}, and everything that is in it or depends on it."
    return f"Prune would delete {f['pruned']} of the {f['members']} live objects of this set."


def _restart(f: Facts) -> str:
    pods = f"{f['pods']} pod" + ("" if f["pods"] == "1" else "s") if f.get("pods") else "All pods"
    how = (
        "all of them stop before new ones start"
        if f.get("strategy") == "Recreate"
        else "they are replaced step by step"
    )
    held = f" PodDisruptionBudget {f['budgets']} may hold it up." if f.get("budgets") else ""
    return f"{pods} restart because the pod template changes: {how}.{held}"


def _autoscaled(f: Facts) -> str:
    live = f" It is {f['live']} now." if f.get("live") else ""
    return (
        f"{f['scaler']} scales this object, but the manifest sets replicas to {f['wanted']}.{live}"
        " Leave replicas out of the manifest to end this."
    )


def _same_set(f: Facts) -> str:
    return f"The {f['what']} {f['name']} is created by this very set: the server cannot rehearse this yet."


def _topology(f: Facts) -> str:
    outcome = {
        "granular to atomic": "owners of parts conflict over the whole",
        "atomic to granular": "what it no longer names stays, and others may add to it",
    }
    return f"{f['manager']} owns this in the shape of an older schema ({f['change']}): {outcome[f['change']]}."


def _conversion(f: Facts) -> str:
    if f["how"] == "webhook":
        head = f"A webhook converts {f['kind']} between {f['versions']} and was not asked"
    else:
        head = f"How {f['kind']} is converted between {f['versions']} is not known"
    if f["elsewhere"]:
        return f"{head}: what is owned at {f['elsewhere']} is taken for fields of the same names."
    return f"{head}: all versions are taken to have the same fields."


_SENTENCES: dict[HazardKind, str | Callable[[Facts], str]] = {
    HazardKind.NO_LAST_APPLIED: (
        "The live object has no last-applied configuration: what the manifest no longer names stays."
    ),
    HazardKind.REMOVAL_WILL_NOT_HAPPEN: ("You no longer set this field, but it stays: {owners} still owns it."),
    HazardKind.DEFAULTED_SIBLING: (
        "The server will refuse type {type} beside the defaulted {sibling}; write {remedy} in the manifest."
    ),
    HazardKind.NULL_DEFAULTS_AGAIN: "{field} is cleared with null, and the server sets its default again.",
    HazardKind.IMMUTABLE_FIELD: (
        "{field} of a {kind} cannot be changed; only deleting and creating the object anew can."
    ),
    HazardKind.AUTOSCALED_FIELD: _autoscaled,
    HazardKind.DUPLICATE_MERGE_KEY: (
        "{list} holds two entries with the same key ({keys}): they are taken for one and the same."
    ),
    HazardKind.ORDER_CHURN: "The {count} entries of {list} only change their order.",
    HazardKind.REPEATING_PATCH: "{field} is sent again at every apply, although nothing changes: {cause}.",
    HazardKind.ATOMIC_LIST_REPLACED: ("{list} is replaced whole: {lost} live entries that others added are lost."),
    HazardKind.TOPOLOGY_CHANGED: _topology,
    HazardKind.RETYPED_VALUE: _retyped,
    HazardKind.DUPLICATE_KEY: (
        "{key} is written twice, in lines {first} and {second}: the last one wins and nobody is told."
    ),
    HazardKind.UNKNOWN_FIELD: "{kind} has no field {field} here: strict validation refuses the object.",
    HazardKind.DEPRECATED_VERSION: _version,
    HazardKind.CREATED_IN_SAME_SET: _same_set,
    HazardKind.ANNOTATION_TOO_LONG: (
        "The annotations have {size} bytes, the server takes {limit}; the longest is {annotation}."
        " Server-side apply needs no such annotation."
    ),
    HazardKind.BELONGS_TO_OTHER: "{tool} {name} manages this object and may take the change back.",
    HazardKind.PRUNE_SHARE: _prune,
    HazardKind.CLUSTER_SCOPED: lambda f: _REACHES[f["reach"]].format_map(f),
    HazardKind.SECRET_CONTENT: "{count} entries of this Secret change: {entries}.",
    HazardKind.INVISIBLE_CHARACTERS: (
        "The text holds characters that are not seen or that reorder what is seen: {characters}."
    ),
    HazardKind.ADMISSION_CHANGED: "The server gave {field} another value than the manifest asks for.",
    HazardKind.WEBHOOK_WITHOUT_DRY_RUN: (
        "Webhook {name} cannot be part of a dry run: what it will change is not known."
    ),
    HazardKind.PODS_RESTART: _restart,
    HazardKind.CONVERSION_NOT_ASKED: _conversion,
}


def title(kind: HazardKind, severity: Severity | None = None) -> str:
    """A few words for lists and badges; `severity` where a danger has a name of its own."""
    if severity is Severity.DANGER and kind in _LOUD_TITLES:
        return _LOUD_TITLES[kind]
    return _TITLES[kind]


def title_of(hazard: Hazard) -> str:
    """A few words for one hazard, as exact as its facts allow."""
    reach = _REACH_TITLES.get(hazard.facts.get("reach", "")) if hazard.kind is HazardKind.CLUSTER_SCOPED else None
    return reach or title(hazard.kind, hazard.severity)


def describe_hazard(hazard: Hazard) -> str:
    """The sentence of a hazard, without its field."""
    sentence = _SENTENCES[hazard.kind]
    return sentence(hazard.facts) if callable(sentence) else sentence.format_map(hazard.facts)


def render_hazard(hazard: Hazard) -> str:
    """The sentence of a hazard, with its field in front where it has one."""
    text = describe_hazard(hazard)
    where = render_path(hazard.path)
    return f"{where}: {text}" if where else text
