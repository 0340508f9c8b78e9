"""The fields outside of status that controllers of Kubernetes write by their job, each with its source.

A plan promises nothing of them, and that they change is neither a failure nor drift. The sources are files of
k8s.io/kubernetes and its staging modules, v1.36; tests let the real controllers and the API server write.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from applyviz.engine.objects.paths import FieldPath, fields, render_path, value
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at


class ControllerField(Struct, frozen=True):
    """One field of a kind, or everything below it.

    - `source` is where Kubernetes writes it. `where` limits it to objects with this value at a path, or with any value
      (None) there.
    """

    group: str
    kind: str
    path: FieldPath
    source: str
    where: tuple[tuple[str, ...], JSONValue] | None = None

    def __str__(self) -> str:
        return f"{self.kind} {render_path(self.path)}"

    def covers(self, path: FieldPath, obj: JSONObject) -> bool:
        """Return whether a path of an object of its kind is this field or below it."""
        if path[: len(self.path)] != self.path:
            return False
        if self.where is None:
            return True
        found = get_at(obj, self.where[0])
        return found is not None if self.where[1] is None else found == self.where[1]


def _annotation(name: str) -> FieldPath:
    return fields("metadata", "annotations", name)


def _finalizer(name: str) -> FieldPath:
    return (*fields("metadata", "finalizers"), value(name))


_DEPLOYMENT = "pkg/controller/deployment/util/deployment_util.go"
_VOLUMES = "k8s.io/component-helpers/storage/volume/pv_helpers.go"
_PROTECTION = "pkg/volume/util/finalizer.go"
_TOKENS = "pkg/controller/serviceaccount/tokens_controller.go"
_LEGACY_TOKENS = "pkg/serviceaccount/legacy.go"
_AGGREGATION = "pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go"
_FLOWS = "pkg/registry/flowcontrol/ensurer/strategy.go"
_UPDATED = "apf.kubernetes.io/autoupdate-spec"
_IS_UPDATED: Final = (("metadata", "annotations", _UPDATED), "true")
_IS_AUTOMANAGED: Final = (("metadata", "labels", "kube-aggregator.kubernetes.io/automanaged"), "true")
_IS_TOKEN: Final = (("type",), "kubernetes.io/service-account-token")
_CLAIM, _VOLUME = "PersistentVolumeClaim", "PersistentVolume"

CONTROLLER_FIELDS: Final[tuple[ControllerField, ...]] = (
    ControllerField("apps", "Deployment", _annotation("deployment.kubernetes.io/revision"), _DEPLOYMENT),
    *(
        ControllerField("apps", "ReplicaSet", _annotation(f"deployment.kubernetes.io/{name}"), _DEPLOYMENT)
        for name in ("revision", "revision-history", "desired-replicas", "max-replicas")
    ),
    *(
        ControllerField("", _CLAIM, _annotation(name), _VOLUMES)
        for name in (
            "pv.kubernetes.io/bind-completed",
            "pv.kubernetes.io/bound-by-controller",
            "volume.kubernetes.io/selected-node",
            "volume.kubernetes.io/storage-provisioner",
            "volume.beta.kubernetes.io/storage-provisioner",
            "pv.kubernetes.io/migrated-to",
        )
    ),
    ControllerField(
        "", _CLAIM, fields("spec", "volumeName"), "pkg/controller/volume/persistentvolume/pv_controller.go"
    ),
    ControllerField("", _CLAIM, _finalizer("kubernetes.io/pvc-protection"), _PROTECTION),
    *(
        ControllerField("", _VOLUME, _annotation(name), _VOLUMES)
        for name in ("pv.kubernetes.io/bound-by-controller", "pv.kubernetes.io/migrated-to")
    ),
    ControllerField("", _VOLUME, fields("spec", "claimRef"), "pkg/controller/volume/persistentvolume/pv_controller.go"),
    ControllerField("", _VOLUME, _finalizer("kubernetes.io/pv-protection"), _PROTECTION),
    ControllerField(
        *("", "Service", _finalizer("service.kubernetes.io/load-balancer-cleanup")),
        "k8s.io/cloud-provider/service/helpers/helper.go",
    ),
    ControllerField(
        *("", "Endpoints", _annotation("endpoints.kubernetes.io/last-change-trigger-time")),
        "pkg/controller/endpoint/endpoints_controller.go",
    ),
    ControllerField("", "Secret", _annotation("kubernetes.io/service-account.uid"), _TOKENS, _IS_TOKEN),
    *(
        ControllerField("", "Secret", fields("data", name), _TOKENS, _IS_TOKEN)
        for name in ("token", "ca.crt", "namespace")
    ),
    *(
        ControllerField("", "Secret", fields("metadata", "labels", name), _LEGACY_TOKENS, _IS_TOKEN)
        for name in ("kubernetes.io/legacy-token-last-used", "kubernetes.io/legacy-token-invalid-since")
    ),
    ControllerField(
        *("rbac.authorization.k8s.io", "ClusterRole", fields("rules"), _AGGREGATION),
        (("aggregationRule",), None),
    ),
    ControllerField(
        *("apiregistration.k8s.io", "APIService", fields("spec")),
        "k8s.io/kube-aggregator/pkg/controllers/autoregister/autoregister_controller.go",
        _IS_AUTOMANAGED,
    ),
    *(
        ControllerField("flowcontrol.apiserver.k8s.io", kind, path, _FLOWS, where)
        for kind in ("FlowSchema", "PriorityLevelConfiguration")
        for path, where in ((_annotation(_UPDATED), None), (fields("spec"), _IS_UPDATED))
    ),
)


def is_controller_written(path: FieldPath, obj: JSONObject) -> bool:
    """Return whether a controller of Kubernetes writes this field of an object by its job."""
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    kind = obj.get("kind")
    return any(one.covers(path, obj) for one in CONTROLLER_FIELDS if (one.group, one.kind) == (group, kind))
