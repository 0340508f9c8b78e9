"""Drop the fields of features that are off by default: the server accepts and forgets them, unless they are there.

Rule: the strategies of k8s.io/kubernetes v1.36.3 and the defaults of its feature gates. A cluster that turns a feature
on answers otherwise; its dry run says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, get_at

Path = tuple[str, ...]
_EACH = "*"
_SOURCES = ("volumes", _EACH, "projected", "sources", _EACH)
# Fields of the spec of a pod: GenericWorkload, ClusterTrustBundleProjection, PodCertificateRequest and
# ContainerStopSignals, with whose field a lifecycle goes that has no other.
_POD_FIELDS: tuple[Path, ...] = (
    ("schedulingGroup",),
    (*_SOURCES, "clusterTrustBundle"),
    (*_SOURCES, "podCertificate"),
    *(
        (name, _EACH, "lifecycle", "stopSignal")
        for name in ("containers", "initContainers", "ephemeralContainers")
    ),
)  # fmt: skip
_TEMPLATE = ("spec", "template", "spec")
_POD_SPECS: Mapping[str, Path] = {
    "pods": ("spec",),
    "podtemplates": ("template", "spec"),
    "cronjobs": ("spec", "jobTemplate", *_TEMPLATE),
    **dict.fromkeys(
        ("deployments", "statefulsets", "daemonsets", "replicasets", "replicationcontrollers", "jobs"), _TEMPLATE
    ),
}
# MaxUnavailableStatefulSet, CoordinatedLeaderElection, VolumeLimitScaling, DynamicKubeletConfig (removed); v1 of
# EndpointSlices has no topology.
_FIELDS: Mapping[str, tuple[Path, ...]] = {
    "statefulsets": (("spec", "updateStrategy", "rollingUpdate", "maxUnavailable"),),
    "leases": (("spec", "strategy"), ("spec", "preferredHolder")),
    "csidrivers": (("spec", "preventPodSchedulingIfMissing"),),
    "nodes": (("spec", "configSource"),),
    "endpointslices": (("endpoints", _EACH, "deprecatedTopology"),),
}


def drop_disabled(plural: str, obj: MutableObject, live: JSONObject | None = None) -> None:
    """Drop fields of features that are off by default, in place; what `live` uses may stay and change."""
    root = _POD_SPECS.get(plural)
    fields = (*(((*root, *path) for path in _POD_FIELDS) if root else ()), *_FIELDS.get(plural, ()))
    for path in fields:
        if not any(True for _ in _find(live, path)):
            _drop(obj, path)
    if plural == "persistentvolumeclaims":
        _drop_other_namespace(obj, live)


def _find(value: JSONValue, path: Path) -> Iterator[MutableObject]:
    """Yield each map that has a value for the last step of the path."""
    step, *rest = path
    if step == _EACH:
        for item in value if isinstance(value, list) else ():
            yield from _find(item, tuple(rest))
    elif isinstance(value, dict) and value.get(step) is not None:
        if rest:
            yield from _find(value[step], tuple(rest))
        else:
            yield value


def _drop(obj: MutableObject, path: Path) -> None:
    *parents, name = path
    for holder in list(_find(obj, tuple(parents))) if name == "stopSignal" else ():
        if [*holder["lifecycle"]] == [name]:
            del holder["lifecycle"]
    for holder in list(_find(obj, path)):
        del holder[name]


def _drop_other_namespace(obj: MutableObject, live: JSONObject | None) -> None:
    """Drop the source of a claim in another namespace: CrossNamespaceVolumeDataSource."""
    source = ("spec", "dataSourceRef")
    if get_at(obj, (*source, "namespace")) and not get_at(live, (*source, "namespace")):
        del obj["spec"]["dataSourceRef"]
