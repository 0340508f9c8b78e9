"""Hand-built engine values for the tests of read models and templates."""

from __future__ import annotations

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects import paths
from applyviz.engine.objects.errors import Conflict, SourcePosition
from applyviz.engine.objects.exchange import APPLY_PATCH, Request
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.conflicts.file_edits import FileEdit, FilePatch
from applyviz.engine.planning.conflicts.resolutions import FieldResolutions, ResolutionKind, ResolutionOption
from applyviz.engine.planning.model.plan import Certainty, Operation, PlannedObject, Versions
from applyviz.engine.risks.model import Risk, RiskLevel
from applyviz.engine.risks.removals import REMOVAL_WILL_NOT_HAPPEN
from applyviz.engine.schema.model import SchemaOrigin

YOU = Owner("ci", "Apply", "apps/v1", time="2026-11-18T09:12:00Z")
SETTER = Owner("kubectl-set", "Update", "apps/v1", time="2026-11-18T14:02:00Z")
AUTOSCALER = Owner("kube-controller-manager", "Update", "apps/v1", "scale", "2026-11-19T03:40:00Z")

LABEL = paths.fields("metadata", "labels", "app.kubernetes.io/version")
REPLICAS = paths.fields("spec", "replicas")
STRATEGY = paths.fields("spec", "strategy", "type")
ROLLING = paths.fields("spec", "strategy", "rollingUpdate")
SERVER = (*paths.fields("spec", "template", "spec", "containers"), paths.key({"name": "server"}))
IMAGE = (*SERVER, "f:image")
COMMAND = (*SERVER, "f:command")
GRACE = paths.fields("spec", "template", "spec", "terminationGracePeriodSeconds")


def env_path(name: str) -> paths.FieldPath:
    """The value of one environment variable of the server container."""
    return (*SERVER, "f:env", paths.key({"name": name}), "f:value")


def build_deployment(version: str, image: str, **spec: object) -> dict[str, object]:
    """A Deployment as its four versions share it."""
    extra = spec.pop("env", [])
    container = {
        "name": "server",
        "image": image,
        "env": extra,
        **({"command": c} if (c := spec.pop("command", None)) else {}),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "frontend", "namespace": "shop", "labels": {"app.kubernetes.io/version": version}},
        "spec": {**spec, "template": {"spec": {"containers": [container], "terminationGracePeriodSeconds": 30}}},
    }


def build_open_field(*, manifest_image: str, live_image: str) -> FieldResolutions:
    """The three resolutions of the image, as planning works them out."""
    leave, keep = (
        FileEdit(IMAGE, manifest_image, is_removed=True),
        FileEdit(IMAGE, manifest_image, live_image),
    )
    patch = FilePatch(
        SourcePosition("frontend.yaml", 31),
        "--- a/frontend.yaml\n+++ b/frontend.yaml\n@@ -30,2 +30,1 @@\n     - name: server\n-      image: hotfix\n",
    )
    return FieldResolutions(
        IMAGE,
        ("kubectl-set",),
        (
            ResolutionOption(ResolutionKind.OVERWRITE, manifest_image, True, (YOU,)),
            ResolutionOption(ResolutionKind.GIVE_UP, live_image, True, (SETTER,), leave, patch),
            ResolutionOption(
                ResolutionKind.SHARE, live_image, True, (YOU, SETTER), keep, FilePatch(patch.position, reason="Set it.")
            ),
        ),
    )


def build_change() -> PlannedObject:
    """A server-side change with every kind of row that a page knows."""
    at = [SourcePosition("frontend.yaml", line, 3) for line in (8, 14, 31, 40)]
    manifest = build_deployment(
        "v0.10.1",
        "registry.example/frontend:v0.10.1",
        strategy={"type": "Recreate"},
        env=[{"name": "ENABLE_SINGLE_SESSION", "value": "false"}],
        command=[
            "/bin/sh",
            "-c",
            "exec /app/server --listen=0.0.0.0:8080 --metrics=0.0.0.0:9090 --graceful-shutdown=30s",
        ],
    )
    live = build_deployment(
        "v0.8.0",
        "registry.example/frontend:hotfix-3",
        replicas=7,
        strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
        env=[{"name": "DISABLE_PROFILER", "value": "1"}],
        command=["/bin/sh", "-c", "exec /app/server --listen=0.0.0.0:8080 --metrics=0.0.0.0:9090"],
    )
    after = build_deployment(
        "v0.10.1",
        "registry.example/frontend:hotfix-3",
        replicas=7,
        strategy={"type": "Recreate"},
        env=[{"name": "ENABLE_SINGLE_SESSION", "value": "false"}],
        command=manifest["spec"]["template"]["spec"]["containers"][0]["command"],  # type: ignore[index]
    )
    fields = (
        FieldReason(LABEL, FieldOperation.CHANGED, Reason.MANIFEST_SETS, "", (YOU,), (YOU,), at[0]),
        FieldReason(
            REPLICAS,
            FieldOperation.NOT_REMOVED,
            Reason.STILL_OWNED_BY_OTHERS,
            "kube-controller-manager",
            (YOU, AUTOSCALER),
            (AUTOSCALER,),
        ),
        FieldReason(STRATEGY, FieldOperation.CHANGED, Reason.MANIFEST_SETS, "", (YOU,), (YOU,), at[1]),
        FieldReason(ROLLING, FieldOperation.CLEARED, Reason.REMOVED_SOLE_OWNER, "", (YOU,), ()),
        FieldReason(IMAGE, FieldOperation.CONFLICT, Reason.CONFLICTS, "kubectl-set", (SETTER,), (SETTER,), at[2]),
        FieldReason(env_path("ENABLE_SINGLE_SESSION"), FieldOperation.SET, Reason.NEW_ENTRY, "name", (), (YOU,), at[3]),
        FieldReason(env_path("DISABLE_PROFILER"), FieldOperation.CLEARED, Reason.REMOVED_SOLE_OWNER, "", (YOU,), ()),
        FieldReason(COMMAND, FieldOperation.CHANGED, Reason.REPLACED_WHOLE, "", (YOU,), (YOU,), at[3]),
        FieldReason(GRACE, FieldOperation.UNCHANGED, Reason.SERVER_DEFAULT, "", (), ()),
    )
    ref = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "shop", "frontend")
    return PlannedObject(
        ref=ref,
        operation=Operation.BLOCKED,
        versions=Versions(None, manifest, live, after, after),
        requests=(
            Request(
                "PATCH",
                "/apis/apps/v1/namespaces/shop/deployments/frontend",
                {"fieldManager": "ci", "fieldValidation": "Strict", "force": "false"},
                APPLY_PATCH,
                manifest,
                ref,
                "apply",
            ),
        ),
        fields=fields,
        conflicts=(
            Conflict(
                "kubectl-set", "Update", "apps/v1", "", IMAGE, 'conflict with "kubectl-set" using apps/v1', SETTER.time
            ),
        ),
        open_fields=(
            build_open_field(
                manifest_image="registry.example/frontend:v0.10.1", live_image="registry.example/frontend:hotfix-3"
            ),
        ),
        risks=(Risk(REMOVAL_WILL_NOT_HAPPEN, RiskLevel.MEDIUM, REPLICAS, {"owners": "kube-controller-manager"}),),
        certainty=Certainty.CONFIRMED,
        certainty_reason="",
        schema_origin=SchemaOrigin.CLUSTER_OPENAPI,
        method="server-side apply",
        position=SourcePosition("frontend.yaml", 12, 1),
        end_line=88,
    )
