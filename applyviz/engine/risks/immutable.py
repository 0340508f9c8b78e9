"""A change to an immutable field: the server answers 422, and only delete and create helps.

Rule: the update validation of each kind in kube-apiserver v1.36.3, as it answered (`kept_values` holds the tables);
custom resources by rules of their CustomResourceDefinition that compare `self` with `oldSelf`. The server compares the
live object with the resulting one, after defaults: what the merge drops and a default brings back does not change.
A write that a dry run accepted changes no immutable field, even if the tables list the field.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import permutations
from typing import Any

from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.objects.accessors import as_mapping
from applyviz.engine.objects.kinds import CRD
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json, get_at, is_same_json
from applyviz.engine.risks.advice import Advice
from applyviz.engine.risks.kept_values import (
    DEFAULTS,
    FIXED,
    FIXED_BUT,
    FIXED_ONCE_SET,
    UNSET,
    Kind,
    Place,
    list_container_fields,
    name_containers,
)
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import (
    field_path,
    fill_entries,
    fill_from_live,
    keep_readable,
    list_at,
    map_at,
    position_of,
    respell,
    root_of,
)
from applyviz.engine.schema.walk import MISSING, find_value

# The fields of a pod template that a suspended Job may change before its first start: scheduling and resources.
_FREE_OF_SUSPENDED = ("nodeSelector", "tolerations", "schedulingGates", "affinity")
# Only a deletion writes these, whatever the kind.
_OF_DELETIONS = (("metadata", "deletionTimestamp"), ("metadata", "deletionGracePeriodSeconds"))
_AFFINITY = ("spec", "affinity")
_CONTAINERS = (("spec", "containers"), ("spec", "initContainers"))
# The two fields of a claim that name its source: the server fills each from the other.
_TWINS = {("spec", one): ("spec", other) for one, other in permutations(("dataSource", "dataSourceRef"))}
# The taints that every pod tolerates for five minutes, by the admission plugin DefaultTolerationSeconds.
_ADMITTED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
# What a new object cannot have either: the server refuses it, or leaves it out.
_OF_NO_NEW_OBJECT = (*_OF_DELETIONS, ("spec", "ephemeralContainers"))
# What goes with an object of a kind when it is deleted, so that replacing it is not the first thing to try.
_LOSES = {
    "PersistentVolumeClaim": "the data of its volume",
    "CustomResourceDefinition": "every object of its kind",
}


def _describe_immutable(f: Facts) -> Templates:
    fixed = "{field} of a {kind} cannot be changed."
    back = Advice.SIBLING_REMOVE.value if f.get("absent") else Advice.PUT_BACK.value
    if f.get("never"):
        return (fixed, back)
    if f.get("loses"):
        return (fixed, back, "Deleting the {kind} loses {loses}.")
    return (fixed, back, Advice.RECREATE.value)


IMMUTABLE_FIELD = RiskKind("immutable-field", "Immutable field changes", _describe_immutable, level=RiskLevel.HIGH)


def _compare(live: JSONObject, result: JSONObject, where: Place) -> bool:
    before, now = get_at(live, where, ABSENT), get_at(result, where, ABSENT)
    return before is not now and (before is ABSENT or now is ABSENT or not is_same_json(before, now))


def _fixed_but(live: JSONObject, result: JSONObject, key: Kind) -> Iterator[Place]:
    part, free = FIXED_BUT[key]
    where = (part,) if part else ()
    before, now = get_at(live, where), get_at(result, where)
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return
    for name in dict.fromkeys((*before, *now)):
        if name not in free and _compare(live, result, (*where, name)):
            yield (*where, name)


def _service(live: JSONObject, result: JSONObject) -> Iterator[Place]:
    types = [get_at(obj, ("spec", "type"), "ClusterIP") for obj in (live, result)]
    if "ExternalName" in types:
        return
    before, now = get_at(live, ("spec", "clusterIP")), get_at(result, ("spec", "clusterIP"))
    if before and now and before != now:
        yield "spec", "clusterIP"
    families = [get_at(obj, ("spec", "ipFamilies")) for obj in (live, result)]
    if all(isinstance(f, list) and f for f in families) and families[0][0] != families[1][0]:
        yield "spec", "ipFamilies"
    if types[0] == types[1] and _compare(live, result, ("spec", "loadBalancerClass")):
        yield "spec", "loadBalancerClass"


def _sealed(live: JSONObject, result: JSONObject) -> Iterator[Place]:
    if live.get("immutable") is not True:
        return
    texts = result.get("stringData")
    written = {k: b64encode(str(v).encode()).decode() for k, v in texts.items()} if isinstance(texts, Mapping) else {}
    result = {**result, "data": {**(result.get("data") or {}), **written}} if written else result
    for name in ("data", "binaryData", "immutable"):
        if _compare(live, result, (name,)):
            yield (name,)


def _without(value: JSONValue, *names: str) -> JSONValue:
    """Return a map without some of its fields; a value of another type is unchanged."""
    return {k: v for k, v in value.items() if k not in names} if isinstance(value, Mapping) else value


def _without_free(template: JSONValue) -> JSONValue:
    """Return a pod template without what a suspended Job may change: labels, annotations, scheduling, resources."""
    kept = _without(get_at(template, ("spec",)), *_FREE_OF_SUSPENDED)
    if not isinstance(kept, Mapping):
        return kept
    given = {name: kept[name] for name in ("containers", "initContainers") if isinstance(kept.get(name), list)}
    return {**kept, **{name: [_without(each, "resources") for each in list_at(given, name)] for name in given}}


def _completions(job: JSONObject) -> JSONValue:
    """Return the completions of a Job; one that has neither them nor a parallelism gets 1 of each."""
    found = get_at(job, ("spec", "completions"))
    return 1 if found is None and get_at(job, ("spec", "parallelism")) is None else found


def _job(live: JSONObject, result: JSONObject) -> Iterator[Place]:
    template = ("spec", "template")
    if get_at(live, ("spec", "suspend")) is True and not get_at(live, ("status", "startTime")):
        is_changed = not is_same_json(*(_without_free(get_at(obj, template)) for obj in (live, result)))
    else:
        is_changed = _compare(live, result, template)
    if is_changed:
        yield template
    # The completions of an indexed Job change only together with its parallelism.
    is_indexed = get_at(live, ("spec", "completionMode")) == "Indexed"
    is_whole = get_at(result, ("spec", "completions")) == get_at(result, ("spec", "parallelism"))
    if _completions(live) != _completions(result) and not (is_indexed and is_whole):
        yield "spec", "completions"


def _claim(live: JSONObject, result: JSONObject) -> Iterator[Place]:
    # Only a bound claim may grow.
    if get_at(live, ("status", "phase")) != "Bound":
        for name in ("resources", "volumeAttributesClassName"):
            if _compare(live, result, ("spec", name)):
                yield "spec", name


def _list_tolerations(pod: JSONObject) -> dict[str, JSONValue]:
    """Return the tolerations of a pod by their text, without their seconds, which may change."""
    plain = (_without(each, "tolerationSeconds") for each in list_at(pod, "spec", "tolerations"))
    return {canonical_json(each): each for each in plain}


def _comes_again(toleration: JSONValue, others: Iterable[JSONValue]) -> bool:
    """Return whether admission adds a toleration again: it does for two taints, unless another one tolerates them."""
    key = get_at(toleration, ("key",))
    added = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    is_added = key in _ADMITTED and is_same_json(toleration, added)
    return is_added and all(get_at(other, ("key",)) not in (None, "", key) for other in others)


def _pod(live: JSONObject, result: JSONObject) -> Iterator[Place]:
    """Yield immutable fields of a pod: of containers only images may change; tolerations may only be added."""
    for where in _CONTAINERS:
        plain = [[_without(each, "image") for each in list_at(obj, *where)] for obj in (live, result)]
        if not is_same_json(*plain):
            yield where
    had, tolerated = map(_list_tolerations, (live, result))
    gone = (each for text, each in had.items() if text not in tolerated)
    if not all(_comes_again(each, tolerated.values()) for each in gone):
        yield "spec", "tolerations"
    grace = ("spec", "terminationGracePeriodSeconds")
    if get_at(live, grace, 30) >= 0 and _compare(live, result, grace):
        yield grace


def _narrows_selector(live: JSONObject, result: JSONObject) -> bool:
    before, now = (map_at(obj, "spec", "nodeSelector") for obj in (live, result))
    return {**now, **before} == now


def _narrows_affinity(live: JSONObject, result: JSONObject) -> bool:
    """Return whether only the node affinity changes, and each of its required terms, if it had any, gets conditions."""
    others = [_without(get_at(obj, _AFFINITY), "nodeAffinity") or None for obj in (live, result)]
    before, now = (list_at(obj, *_AFFINITY, "nodeAffinity", _REQUIRED, "nodeSelectorTerms") for obj in (live, result))
    is_longer = len(before) == len(now) and all(map(_extends, now, before))
    return is_same_json(*others) and (not before or is_longer)


def _extends(term: JSONValue, former: JSONValue) -> bool:
    """Return whether the conditions of a term begin with those of the former one; one without any stays empty."""
    parts = [(list_at(former, name), list_at(term, name)) for name in ("matchExpressions", "matchFields")]
    is_empty = not any(before for before, _now in parts)
    return all(now[: len(before)] == before and not (is_empty and now) for before, now in parts)


def _ranges(live: JSONObject, result: JSONObject) -> Iterator[Place]:
    """Yield the address ranges of a cluster if they lose an entry; ranges may only be added."""
    before, now = (list_at(obj, "spec", "cidrs") for obj in (live, result))
    if now[: len(before)] != before:
        yield "spec", "cidrs"


def _definition(live: JSONObject, result: JSONObject) -> Iterator[Place]:
    """Yield the versions of a definition if one that stores objects is removed."""
    names = [get_at(version, ("name",)) for version in list_at(result, "spec", "versions")]
    if any(stored not in names for stored in list_at(live, "status", "storedVersions")):
        yield "spec", "versions"


_BY_RULE: Mapping[Kind, Callable[[JSONObject, JSONObject], Iterator[Place]]] = {
    ("", "Service"): _service,
    ("", "ConfigMap"): _sealed,
    ("", "Secret"): _sealed,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("batch", "Job"): _job,
    ("networking.k8s.io", "ServiceCIDR"): _ranges,
    CRD: _definition,
}


# The fields by which a pod that waits for its scheduling gates may be kept off more nodes.
_NARROWED: Mapping[Place, Callable[[JSONObject, JSONObject], bool]] = {
    ("spec", "nodeSelector"): _narrows_selector,
    _AFFINITY: _narrows_affinity,
}


def _changes(subject: RiskSubject, live: JSONObject, result: JSONObject) -> Iterator[PlainPath]:
    key = (subject.ref.gvk.group, subject.ref.gvk.kind)
    yield from (where for where in _OF_DELETIONS if get_at(subject.manifest, where) and _compare(live, result, where))
    yield from (where for where in FIXED.get(key, ()) if _compare(live, result, where))
    once = (where for where in FIXED_ONCE_SET.get(key, ()) if get_at(live, where) is not None)
    yield from (where for where in once if _compare(live, result, where))
    if key in FIXED_BUT:
        is_waiting = key == ("", "Pod") and bool(list_at(live, "spec", "schedulingGates"))
        free = [where for where, narrows in _NARROWED.items() if is_waiting and narrows(live, result)]
        yield from (where for where in _fixed_but(live, result, key) if where not in free)
    if key in _BY_RULE:
        yield from _BY_RULE[key](live, result)


def _fixed_by_rules(schema: JSONValue, path: tuple[str, ...] = ()) -> Iterator[Place]:
    if not isinstance(schema, Mapping):
        return
    rules = schema.get("x-kubernetes-validations")
    for one in rules if isinstance(rules, list) else ():
        text = "".join(str(one.get("rule", "")).split()) if isinstance(one, Mapping) else ""
        if text in ("self==oldSelf", "oldSelf==self"):
            yield path
    properties = schema.get("properties")
    for name, below in properties.items() if isinstance(properties, Mapping) else ():
        yield from _fixed_by_rules(below, (*path, name))


def find_definition(subject: RiskSubject, gvk: GroupVersionKind) -> JSONObject | None:
    """Return the CustomResourceDefinition of a kind among the related objects."""
    if "." not in gvk.group:
        return None
    for obj in subject.related.of_kind("CustomResourceDefinition"):
        spec = obj.get("spec")
        if get_at(spec, ("group",)) == gvk.group and get_at(spec, ("names", "kind")) == gvk.kind:
            return obj
    return None


def find_version(subject: RiskSubject) -> JSONObject | None:
    """Return the entry of the definition for the version of the object."""
    for version in list_at(find_definition(subject, subject.ref.gvk), "spec", "versions"):
        if get_at(version, ("name",)) == subject.ref.gvk.version:
            return as_mapping(version)
    return None


def _custom(subject: RiskSubject, live: JSONObject, result: JSONObject) -> Iterator[PlainPath]:
    # A rule that compares with the former value holds where there are both: removing the field is allowed.
    for where in _fixed_by_rules(get_at(find_version(subject), ("schema", "openAPIV3Schema"))):
        is_there = all(get_at(obj, where, ABSENT) is not ABSENT for obj in (live, result))
        if is_there and _compare(live, result, where):
            yield where


def _list_fixed(subject: RiskSubject, live: JSONObject, result: JSONObject) -> list[PlainPath]:
    """Return the immutable fields that differ between the live object and a result."""
    return list(dict.fromkeys((*_changes(subject, live, result), *_custom(subject, live, result))))


def _is_named(where: PlainPath, named: str) -> bool:
    """Return whether the field that a server names is this one, or above or below it.

    - Of volumes and claims the server names some fields without the spec that has them.
    """
    text = ".".join(str(step) for step in where)
    return (
        text in (named, f"spec.{named}") or text.startswith(f"{named}.") or named.startswith((f"{text}.", f"{text}["))
    )


def _comes_back(gvk: GroupVersionKind, live: JSONObject, merged: JSONObject, where: Place) -> bool:
    """Return whether a field that a merge drops gets its live value again: as its default, or from its twin."""
    if gvk.kind == "PersistentVolumeClaim" and where in _TWINS and get_at(merged, _TWINS[where]) is not None:
        return True
    default = DEFAULTS.get((gvk.group, gvk.kind), {}).get(where, ABSENT)
    return default is not ABSENT and is_same_json(get_at(live, where), default)


def _is_null_again(gvk: GroupVersionKind, live: JSONObject, merged: JSONObject, where: PlainPath) -> bool:
    """Return whether a merge empties a field, or sets what holds it to null, and it gets its live value again."""
    path = tuple(map(str, where))
    values = [get_at(merged, path[:end], ABSENT) for end in range(1, len(path) + 1)]
    return (None in values or values[-1] == "") and _comes_back(gvk, live, merged, path)


def _without_empty(value: JSONValue, live: JSONValue, *, is_entry: bool = False) -> Any:
    """Return a merge without the empty values that live lacks: a server leaves most of them out.

    - In a list entry, an empty map, 0 and false are something: `emptyDir: {}`, `runAsUser: 0`.
    """
    if isinstance(value, list) and isinstance(live, list) and len(value) == len(live):
        return [_without_empty(item, old, is_entry=True) for item, old in zip(value, live, strict=True)]
    if not isinstance(value, Mapping) or not isinstance(live, Mapping):
        return value
    kept = (name for name, item in value.items() if name in live or (item not in UNSET if is_entry else item))
    return {name: _without_empty(value[name], live.get(name), is_entry=is_entry) for name in kept}


def _find_unanswered(subject: RiskSubject, live: JSONObject, merged: JSONObject) -> list[PlainPath]:
    """Return the immutable fields that differ where only the merge is known; empty ones only if no other does."""
    return _find_differing(subject, live, _without_empty(merged, live)) or _find_differing(subject, live, merged)


def _find_differing(subject: RiskSubject, live: JSONObject, merged: JSONObject) -> list[PlainPath]:
    """Return the immutable fields that a merge changes or drops.

    - A field that the merge drops counts only if the server refuses it, and nothing else explains the refusal; one
      that gets its live value again, as a default, does not.
    """
    filled = _list_fixed(subject, live, fill_from_live(merged, live))
    changed = [where for where in filled if not _is_null_again(subject.ref.gvk, live, merged, where)]
    named = [r for r in subject.refused_fields if not any(_is_named(one, r) for one in changed)]
    for lacking in (fill_entries(merged, live), merged):
        dropped = (where for where in _list_fixed(subject, live, lacking) if where not in changed)
        dropped = (where for where in dropped if not _comes_back(subject.ref.gvk, live, merged, tuple(map(str, where))))
        if found := [where for where in dropped if any(_is_named(where, r) for r in named)]:
            return [*changed, *found]
    return changed


def _find_in_containers(subject: RiskSubject, live: JSONObject, result: JSONObject, where: PlainPath) -> Iterator[Risk]:
    """Yield the fields of the containers of a Pod that differ; what the merge drops counts if nothing else differs."""
    wanted, had, now = (get_at(obj, tuple(map(str, where))) for obj in (subject.manifest, live, result))
    changed = list_container_fields(wanted, had, fill_from_live(now, had), where)
    for one in changed if changed != [where] else list_container_fields(wanted, had, now, where):
        at = name_containers(subject.manifest, one)
        facts = {"field": render_path(at).removeprefix("."), "kind": "Pod"}
        if find_value(root_of(subject), live, at) is MISSING:
            facts["absent"] = "yes"
        yield IMMUTABLE_FIELD.at(at, facts, position_of(subject, one))


@rule(10)
def find(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the immutable fields whose value would change."""
    live, result = subject.live, subject.result
    if live is None or result is None or subject.manifest is None or subject.is_accepted:
        return
    is_unanswered, kind = subject.is_merge_only or subject.after is None, subject.ref.gvk.kind
    result = keep_readable(subject.merged or result, live, root_of(subject)) if is_unanswered else result
    result = respell(result, live, root_of(subject))
    found = _find_unanswered(subject, live, result) if is_unanswered else _list_fixed(subject, live, result)
    for where in found:
        if where in _CONTAINERS:
            yield from _find_in_containers(subject, live, result, where)
            continue
        loses = {"loses": _LOSES[kind]} if kind in _LOSES else {}
        facts = {"field": ".".join(str(step) for step in where), "kind": kind, **loses}
        wanted, had = (get_at(obj, tuple(map(str, where))) for obj in (subject.manifest, live))
        is_absent, is_never = had is None and wanted is not None, where in _OF_NO_NEW_OBJECT
        facts |= {name: "yes" for name, holds in (("absent", is_absent), ("never", is_never)) if holds}
        yield IMMUTABLE_FIELD.at(field_path(where), facts, position_of(subject, where))
