"""The objects that a Pod needs before it starts: claims, ConfigMaps, Secrets, and in them keys.

Rule: https://kubernetes.io/docs/concepts/configuration/configmap/ and the messages of scheduler and kubelet. The
references come from `engine.references`, which risks and the graph of a review use too; what is optional may be absent.
A message names objects and keys, never values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.references.listing import list_references
from applyviz.engine.references.model import ReadMode, Reference, ReferenceKind
from applyviz.sandbox.storage.store import ObjectKey

Lookup = Callable[[ObjectKey], JSONObject | None]
_PLURALS = {"ConfigMap": "configmaps", "Secret": "secrets", "PersistentVolumeClaim": "persistentvolumeclaims"}
_NAMES = {"ConfigMap": "configmap", "Secret": "secret"}


def _list_references(pod: JSONObject, kind: ReferenceKind) -> Iterator[Reference]:
    for found in list_references(ObjectRef.from_object(pod), pod):
        if found.kind is kind:
            yield found


def find_key(reference: Reference) -> ObjectKey:
    """Return the key of the object that a Pod names."""
    _, kind, namespace, name = reference.target
    return ObjectKey("", _PLURALS.get(kind, kind.lower() + "s"), namespace, name)


def find_claim_problem(pod: JSONObject, find: Lookup) -> str:
    """Return why the claims of a Pod keep it from being scheduled, "" if they do not."""
    for reference in _list_references(pod, ReferenceKind.CLAIM):
        claim = find(find_key(reference))
        if claim is None:
            return f'persistentvolumeclaim "{reference.target[3]}" not found.'
        if get_at(claim, ("status", "phase")) != "Bound":
            return "pod has unbound immediate PersistentVolumeClaims."
    return ""


def _describe_missing(reference: Reference, find: Lookup) -> str:
    _, kind, namespace, name = reference.target
    stored = find(find_key(reference))
    if stored is None:
        return "" if reference.is_optional else f'{_NAMES[kind]} "{name}" not found'
    keys = {**(stored.get("data") or {}), **(stored.get("binaryData") or {})}
    if not reference.key or reference.key in keys or reference.is_key_optional:
        return ""
    if reference.mode is ReadMode.ENV:
        return f"couldn't find key {reference.key} in {kind} {namespace}/{name}"
    return f"{_NAMES[kind]} references non-existent config key: {reference.key}"


def find_volume_problem(pod: JSONObject, find: Lookup) -> str:
    """Return why a volume of a Pod cannot be mounted, "" if all can."""
    for reference in _list_references(pod, ReferenceKind.CONFIGURATION):
        if "volumes" in reference.path and reference.target[1] in _NAMES:
            problem = _describe_missing(reference, find)
            if problem:
                index = reference.path[reference.path.index("volumes") + 1]
                name = pod["spec"]["volumes"][index]["name"]
                return f'MountVolume.SetUp failed for volume "{name}" : {problem}'
    return ""


def find_container_problem(pod: JSONObject, container: JSONObject, find: Lookup) -> str:
    """Return why the environment of a container cannot be made, "" if it can."""
    alone = {**pod, "spec": {"containers": [container]}}
    for reference in _list_references(alone, ReferenceKind.CONFIGURATION):
        problem = _describe_missing(reference, find)
        if problem:
            return problem
    return ""


def list_needs(pod: JSONObject) -> set[ObjectKey]:
    """Return everything that a Pod may wait for."""
    kinds = (ReferenceKind.CLAIM, ReferenceKind.CONFIGURATION)
    return {find_key(found) for kind in kinds for found in _list_references(pod, kind)}
