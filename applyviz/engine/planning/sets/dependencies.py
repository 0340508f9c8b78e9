"""Find the objects that another object depends on: what a run skips after a failure, and why.

Rule: an object depends on its namespace, the definition of its kind, and the objects that it names: accounts,
configuration, Secrets and claims of a pod, the role of a binding, the target of an autoscaler, the Service behind an
Ingress or a webhook. Objects selected only by labels are not dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at

Key: TypeAlias = tuple[str, str, str, str]
_CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")
_POD_PLACES = (
    ("spec", "template", "spec"),
    ("spec", "jobTemplate", "spec", "template", "spec"),
    ("spec",),
)


def _maps(value: JSONValue) -> Iterator[JSONObject]:
    yield from (item for item in value or () if isinstance(item, Mapping)) if isinstance(value, list) else ()


def _name_at(value: JSONValue, *path: str) -> str:
    found = get_at(value, path, "") if isinstance(value, Mapping) else ""
    return found if isinstance(found, str) else ""


def _find_pod_needs(pod: JSONObject, namespace: str) -> Iterator[Key]:
    account = _name_at(pod, "serviceAccountName")
    if account:
        yield ("", "ServiceAccount", namespace, account)
    if _name_at(pod, "priorityClassName"):
        yield ("scheduling.k8s.io", "PriorityClass", "", _name_at(pod, "priorityClassName"))
    for secret in _maps(pod.get("imagePullSecrets")):
        yield ("", "Secret", namespace, _name_at(secret, "name"))
    for volume in _maps(pod.get("volumes")):
        yield from _find_volume_needs(volume, namespace)
        for source in _maps(get_at(volume, ("projected", "sources"))):
            yield from _find_volume_needs(source, namespace)
    for containers in ("containers", "initContainers"):
        for container in _maps(pod.get(containers)):
            for variable in _maps(container.get("env")):
                yield ("", "ConfigMap", namespace, _name_at(variable, "valueFrom", "configMapKeyRef", "name"))
                yield ("", "Secret", namespace, _name_at(variable, "valueFrom", "secretKeyRef", "name"))
            for source in _maps(container.get("envFrom")):
                yield ("", "ConfigMap", namespace, _name_at(source, "configMapRef", "name"))
                yield ("", "Secret", namespace, _name_at(source, "secretRef", "name"))


def _find_volume_needs(volume: JSONObject, namespace: str) -> Iterator[Key]:
    yield ("", "ConfigMap", namespace, _name_at(volume, "configMap", "name"))
    yield ("", "Secret", namespace, _name_at(volume, "secret", "secretName") or _name_at(volume, "secret", "name"))
    yield ("", "PersistentVolumeClaim", namespace, _name_at(volume, "persistentVolumeClaim", "claimName"))


def _find_named(obj: JSONObject, namespace: str) -> Iterator[Key]:
    """Yield the objects that an object names outside of pods."""
    role = obj.get("roleRef")
    if isinstance(role, Mapping):
        is_namespaced = role.get("kind") == "Role"
        yield (
            "rbac.authorization.k8s.io",
            _name_at(role, "kind"),
            namespace if is_namespaced else "",
            _name_at(role, "name"),
        )
        for subject in _maps(obj.get("subjects")):
            if subject.get("kind") == "ServiceAccount":
                yield ("", "ServiceAccount", _name_at(subject, "namespace") or namespace, _name_at(subject, "name"))
    target = get_at(obj, ("spec", "scaleTargetRef"))
    if isinstance(target, Mapping):
        group = _name_at(target, "apiVersion").rpartition("/")[0]
        yield (group, _name_at(target, "kind"), namespace, _name_at(target, "name"))
    for rule in _maps(get_at(obj, ("spec", "rules"))):
        for path in _maps(get_at(rule, ("http", "paths"))):
            yield ("", "Service", namespace, _name_at(path, "backend", "service", "name"))
    yield ("", "Service", namespace, _name_at(obj, "spec", "defaultBackend", "service", "name"))
    for hook in _maps(obj.get("webhooks")):
        service = get_at(hook, ("clientConfig", "service"))
        yield ("", "Service", _name_at(service, "namespace"), _name_at(service, "name"))
    service = get_at(obj, ("spec", "service"))
    if obj.get("kind") == "APIService":
        yield ("", "Service", _name_at(service, "namespace"), _name_at(service, "name"))


def find_dependencies(ref: ObjectRef, obj: JSONObject) -> frozenset[Key]:
    """Return the keys (`ObjectRef.key`) of the dependencies of an object; `needs_kind` handles definitions."""
    found: set[Key] = set()
    if ref.namespace:
        found.add(("", "Namespace", "", ref.namespace))
    for place in _POD_PLACES:
        pod = get_at(obj, place)
        if isinstance(pod, Mapping) and isinstance(pod.get("containers"), list):
            found.update(_find_pod_needs(pod, ref.namespace))
            break
    found.update(_find_named(obj, ref.namespace))
    return frozenset(key for key in found if key[1] and key[3])
