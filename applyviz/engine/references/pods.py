"""List the references of pods: accounts, classes, pull secrets, claims, and ConfigMaps and Secrets by key and mode.

Rule: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/. A volume whose mounts all have a
`subPath` is not refreshed, so it is read once as environment variables are. Left out on purpose: resource claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from applyviz.engine.objects.values import JSONObject, JSONValue, get_at
from applyviz.engine.references.model import PlainPath, ReadMode, Reference, ReferenceKind
from applyviz.engine.references.reading import list_entries, map_at, text_at

_TEMPLATES: tuple[tuple[str, ...], ...] = (
    ("spec", "template"),
    ("spec", "jobTemplate", "spec", "template"),
    ("template",),
    (),
)
POD_SPECS = (("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"), ("spec",))
"""Where built-in kinds have the spec of their pods, or are pods."""
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_CONFIG, _SECRET = "ConfigMap", "Secret"


class PodTemplate(Struct, frozen=True):
    """The pods of an object: where their spec is, the spec, and their labels."""

    path: tuple[str, ...]
    spec: JSONObject
    labels: JSONObject


def find_pod_template(obj: JSONObject) -> PodTemplate | None:
    """Return the template of the pods that an object creates, or the pod itself; None for all other kinds."""
    for above in _TEMPLATES:
        spec = get_at(obj, (*above, "spec"))
        if isinstance(spec, Mapping) and isinstance(spec.get("containers"), list):
            return PodTemplate((*above, "spec"), spec, map_at(obj, *above, "metadata", "labels"))
    return None


class _Pod(Struct, frozen=True):
    """The pod whose references are listed."""

    path: PlainPath
    spec: JSONObject
    namespace: str

    def refer(self, kind: ReferenceKind, path: PlainPath, target: str, name: str) -> Reference:
        return Reference(kind, (*self.path, *path), ("", target, self.namespace, name))


def _is_optional(source: JSONObject) -> bool:
    return source.get("optional") is True


def _list_environment(pod: _Pod, container: JSONObject, where: PlainPath) -> Iterator[Reference]:
    for n, variable in list_entries(container.get("env")):
        given = map_at(variable, "valueFrom")
        if not given:  # hot: most variables have a value, and name nothing
            continue
        for field, kind in (("configMapKeyRef", _CONFIG), ("secretKeyRef", _SECRET)):
            source = map_at(given, field)
            path = (*pod.path, *where, "env", n, "valueFrom", field)
            target = ("", kind, pod.namespace, text_at(source, "name"))
            key, is_optional = text_at(source, "key"), _is_optional(source)
            yield Reference(
                ReferenceKind.CONFIGURATION, path, target, key, ReadMode.ENV, is_optional, is_key_optional=is_optional
            )
    for n, entry in list_entries(container.get("envFrom")):
        for field, kind in (("configMapRef", _CONFIG), ("secretRef", _SECRET)):
            source = map_at(entry, field)
            path = (*pod.path, *where, "envFrom", n, field)
            target = ("", kind, pod.namespace, text_at(source, "name"))
            yield Reference(
                ReferenceKind.CONFIGURATION, path, target, mode=ReadMode.ENV_FROM, is_optional=_is_optional(source)
            )


def _list_mounts(spec: JSONObject) -> dict[str, list[str]]:
    """Return the subPaths of the mounts of each volume, "" where the whole volume is mounted."""
    found: dict[str, list[str]] = {}
    for containers in CONTAINERS:
        for _, container in list_entries(spec.get(containers)):
            for _, mount in list_entries(container.get("volumeMounts")):
                found.setdefault(text_at(mount, "name"), []).append(text_at(mount, "subPath"))
    return found


def _read_volume(pod: _Pod, source: JSONObject, path: PlainPath, kind: str, mounts: list[str]) -> Iterator[Reference]:
    """Yield a ConfigMap or a Secret as files: one reference for each named key, else one for all keys."""
    name = text_at(source, "secretName") or text_at(source, "name")
    target, is_optional = ("", kind, pod.namespace, name), _is_optional(source)
    is_once = bool(mounts) and all(mounts)
    mode = ReadMode.SUB_PATH if is_once else ReadMode.MOUNTED
    items = [text_at(item, "key") for _, item in list_entries(source.get("items"))]
    # A mount of an absent file becomes an empty folder; an absent item stops the pod.
    files = [] if items or not is_once else list(dict.fromkeys(mount.partition("/")[0] for mount in mounts))
    for key in items or files or [""]:
        yield Reference(
            ReferenceKind.CONFIGURATION,
            (*pod.path, *path),
            target,
            key,
            mode,
            is_optional,
            is_key_optional=is_optional or bool(files),
        )


def _list_sources(pod: _Pod, volume: JSONObject, path: PlainPath, mounts: list[str]) -> Iterator[Reference]:
    for field, kind in (("configMap", _CONFIG), ("secret", _SECRET)):
        source = volume.get(field)
        if isinstance(source, Mapping):
            yield from _read_volume(pod, source, (*path, field), kind, mounts)


def _list_volume(pod: _Pod, volume: JSONObject, path: PlainPath, mounts: list[str]) -> Iterator[Reference]:
    yield from _list_sources(pod, volume, path, mounts)
    for n, source in list_entries(get_at(volume, ("projected", "sources"))):
        yield from _list_sources(pod, source, (*path, "projected", "sources", n), mounts)
    claim = (*path, "persistentVolumeClaim", "claimName")
    yield pod.refer(
        ReferenceKind.CLAIM, claim, "PersistentVolumeClaim", text_at(volume, "persistentVolumeClaim", "claimName")
    )
    for field, source in volume.items():
        for name_field in ("secretRef", "nodePublishSecretRef"):
            name = text_at(source, name_field, "name")
            if name:
                yield pod.refer(ReferenceKind.CONFIGURATION, (*path, field, name_field), _SECRET, name)


def list_pod_references(template: PodTemplate, namespace: str) -> Iterator[Reference]:
    """Yield everything that the pods of a template name."""
    spec = template.spec
    pod = _Pod(template.path, spec, namespace)
    account = text_at(spec, "serviceAccountName") or text_at(spec, "serviceAccount")
    yield pod.refer(ReferenceKind.ACCOUNT, ("serviceAccountName",), "ServiceAccount", account)
    for field, group, kind in (
        ("priorityClassName", "scheduling.k8s.io", "PriorityClass"),
        ("runtimeClassName", "node.k8s.io", "RuntimeClass"),
    ):
        yield Reference(ReferenceKind.CLASS, (*pod.path, field), (group, kind, "", text_at(spec, field)))
    for n, secret in list_entries(spec.get("imagePullSecrets")):
        yield pod.refer(ReferenceKind.PULL_SECRET, ("imagePullSecrets", n), _SECRET, text_at(secret, "name"))
    mounts = _list_mounts(spec)
    for n, volume in list_entries(spec.get("volumes")):
        yield from _list_volume(pod, volume, ("volumes", n), mounts.get(text_at(volume, "name"), []))
    for containers in CONTAINERS:
        for n, container in list_entries(spec.get(containers)):
            yield from _list_environment(pod, container, (containers, n))


def list_port_names(spec: JSONValue) -> frozenset[str]:
    """Return the names of the ports of a pod's containers."""
    return frozenset(
        text_at(port, "name")
        for containers in CONTAINERS
        for _, container in list_entries(get_at(spec, (containers,)))
        for _, port in list_entries(container.get("ports"))
    ) - {""}
