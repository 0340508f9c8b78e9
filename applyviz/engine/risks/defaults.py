"""Server defaults interfere with a change: a default sibling blocks it, a null is defaulted again.

Rule: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#strategy (rollingUpdate is forbidden beside
Recreate) and declarative configuration's page on defaulted fields: clearing a defaulted field makes the server default
it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.objects.paths import field, fields
from applyviz.engine.objects.values import canonical_json, get_at
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.owners import is_ours, list_entries, owns_at
from applyviz.engine.risks.walking import path_of, position_of
from applyviz.engine.schema.model import Node

# kind: (path of the union, its type that forbids the sibling, the sibling)
_UNIONS = {
    ("apps", "Deployment"): (("spec", "strategy"), "Recreate", "rollingUpdate"),
    ("apps", "StatefulSet"): (("spec", "updateStrategy"), "OnDelete", "rollingUpdate"),
}
_POD_DEFAULTS = frozenset(
    (
        "dnsPolicy",
        "enableServiceLinks",
        "imagePullPolicy",
        "restartPolicy",
        "schedulerName",
        "securityContext",
        "terminationGracePeriodSeconds",
        "terminationMessagePath",
        "terminationMessagePolicy",
    )
)
_DEFAULTS = {
    "Deployment": frozenset(
        ("replicas", "strategy", "rollingUpdate", "revisionHistoryLimit", "progressDeadlineSeconds")
    ),
    "StatefulSet": frozenset(
        ("replicas", "updateStrategy", "rollingUpdate", "podManagementPolicy", "revisionHistoryLimit")
    ),
    "DaemonSet": frozenset(("updateStrategy", "rollingUpdate", "revisionHistoryLimit")),
    "Job": frozenset(("parallelism", "completions", "backoffLimit", "completionMode", "suspend")),
    "CronJob": frozenset(("concurrencyPolicy", "suspend", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")),
    "Service": frozenset(
        ("type", "sessionAffinity", "internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy", "clusterIP")
    ),
    "HorizontalPodAutoscaler": frozenset(("minReplicas", "behavior", "metrics")),
    "PersistentVolumeClaim": frozenset(("volumeMode", "storageClassName")),
}


def _find_remedy(subject: RiskSubject, where: tuple[str, ...], sibling: str) -> tuple[str, str]:
    """Return what makes the change possible, and the field managers that block it.

    - Client-side, null removes the sibling. A server-side apply only removes what its manager alone owns.
    """
    if not subject.is_server_side:
        return "null", ""
    path = fields(*where, sibling)
    entries = [e for e in list_entries(subject.live) if owns_at(e, path)]
    others = sorted({str(e.get("manager")) for e in entries if not is_ours(e, subject)})
    if others:
        return "replace", ", ".join(others)
    is_removed_with_it = bool(entries) or get_at(subject.live, (*where, sibling)) is None
    return ("remove" if is_removed_with_it else "own"), ""


def find_sibling(subject: RiskSubject) -> Iterator[Risk]:
    """Yield a defaulted field that the server will refuse beside the new type of its union."""
    gvk = subject.ref.gvk
    union = _UNIONS.get((gvk.group, gvk.kind))
    if union is None or subject.merged is None or subject.live is None:
        return
    where, blocking, sibling = union
    value = get_at(subject.merged, where)
    if not isinstance(value, Mapping) or value.get("type") != blocking or not value.get(sibling):
        return
    remedy, owners = _find_remedy(subject, where, sibling)
    facts = {
        "type": blocking,
        "sibling": sibling,
        "field": ".".join((*where, sibling)),
        "live": canonical_json(get_at(subject.live, (*where, sibling))),
        "before": str(get_at(subject.live, (*where, "type"))),
        "remedy": remedy,
        "owners": owners,
    }
    path = (*fields(*where), field(sibling))
    position = position_of(subject, where)
    yield Risk(RiskKind.DEFAULTED_SIBLING, RiskLevel.HIGH, path, facts, position)


def _is_defaulted(subject: RiskSubject, plain: PlainPath, shape: Node | None) -> bool:
    if shape is not None and shape.has_default and shape.default not in (0, "", {}, None):
        return True
    name = plain[-1]
    known = _DEFAULTS.get(subject.ref.gvk.kind, frozenset())
    return name in known or (name in _POD_DEFAULTS and "spec" in plain)


def find_null(subject: RiskSubject) -> Iterator[Risk]:
    """Yield a field that the manifest clears with null and the server fills again."""
    if subject.manifest is None or subject.live is None:
        return
    for where, value, node in subject.containers:
        if not isinstance(value, Mapping) or None not in value.values():
            continue
        for name, entry in value.items():
            plain = (*where, name)
            shape = node.child(name) if node is not None else None
            if entry is None and _is_defaulted(subject, plain, shape):
                path, position = path_of(subject, plain), position_of(subject, plain)
                yield Risk(RiskKind.NULL_DEFAULTS_AGAIN, RiskLevel.INFO, path, {"field": name}, position)
