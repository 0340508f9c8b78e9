"""Risks from the context of an object: other tools that manage it, missing dependencies, wide effects.

Rule: labels and annotations by which tools mark their objects (ApplySet KEP-3659, Helm, Argo CD, Flux, controllers'
ownerReferences); kinds whose change reaches beyond a namespace or changes permissions.
"""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.merge.last_applied import ANNOTATION
from applyviz.engine.objects.kinds import find_stored
from applyviz.engine.objects.paths import FieldPath, field, fields
from applyviz.engine.objects.values import JSONObject, is_same_json
from applyviz.engine.risks.immutable import find_definition
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.reach_facts import list_reach_facts
from applyviz.engine.risks.walking import map_at, metadata_of, position_of, texts_of

PART_OF = "applyset.kubernetes.io/part-of"
KOPS_ADDON = "kOps addon"
# (labels or annotations, key, owner of the object)
_MARKS = (
    ("annotations", "meta.helm.sh/release-name", "Helm release"),
    ("annotations", "argocd.argoproj.io/tracking-id", "Argo CD application"),
    ("labels", "argocd.argoproj.io/instance", "Argo CD application"),
    ("labels", "kustomize.toolkit.fluxcd.io/name", "Flux kustomization"),
    ("labels", "helm.toolkit.fluxcd.io/name", "Flux Helm release"),
    ("labels", "addon.kops.k8s.io/name", KOPS_ADDON),
)
# What a write records of itself, in metadata.
_RECORDS = frozenset(
    ("creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "uid")
)
_SYSTEM_PREFIX = "kube-"
_RBAC = frozenset(("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"))
_WEBHOOKS = frozenset(
    (
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    )
)


def find_other_tool(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of a live object that belongs to another ApplySet, a release, an application or a controller."""
    labels, annotations = texts_of(subject.live, "labels"), texts_of(subject.live, "annotations")
    part_of = labels.get(PART_OF, "")
    if part_of and part_of != subject.applyset:
        yield _belongs(fields("metadata", "labels"), PART_OF, "ApplySet", part_of)
    reported: set[str] = set()
    for where, mark, tool in _MARKS:
        name = (labels if where == "labels" else annotations).get(mark, "")
        if name and tool not in reported:
            reported.add(tool)
            yield _belongs(fields("metadata", where), mark, tool, name.partition(":")[0])
    references = metadata_of(subject.live).get("ownerReferences")
    for reference in references if isinstance(references, list) else ():
        if reference.get("controller") is True:
            facts = {"tool": str(reference.get("kind")), "name": str(reference.get("name"))}
            path = fields("metadata", "ownerReferences")
            yield Risk(RiskKind.BELONGS_TO_OTHER, RiskLevel.MEDIUM, path, facts)


def _belongs(path: FieldPath, mark: str, tool: str, name: str) -> Risk:
    facts = {"tool": tool, "name": name}
    return Risk(RiskKind.BELONGS_TO_OTHER, RiskLevel.MEDIUM, (*path, field(mark)), facts)


def find_same_set(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of a namespace or definition that the same set creates.

    - Nothing is reported after a dry run of the object, because its dependencies exist then.
    """
    if subject.live is not None or subject.manifest is None or metadata_of(subject.after).get("uid"):
        return
    beside, namespace = subject.related, subject.ref.namespace
    if namespace in beside.namespaces and ("Namespace", namespace) not in beside.live_names:
        facts = {"what": "namespace", "name": namespace}
        path = fields("metadata", "namespace")
        position = position_of(subject, ("metadata", "namespace"))
        yield Risk(RiskKind.CREATED_IN_SAME_SET, RiskLevel.INFO, path, facts, position)
    definition = find_definition(subject, subject.ref.gvk)
    name = str(metadata_of(definition).get("name"))
    if definition is not None and ("CustomResourceDefinition", name) not in beside.live_names:
        facts = {"what": "CustomResourceDefinition", "name": name}
        yield Risk(RiskKind.CREATED_IN_SAME_SET, RiskLevel.INFO, fields("kind"), facts)


def _reach_of(subject: RiskSubject) -> tuple[RiskKind, RiskLevel] | None:
    group, kind = find_stored(*subject.ref.key[:2])
    if kind in _RBAC and group == "rbac.authorization.k8s.io":
        return RiskKind.RBAC_CHANGED, RiskLevel.HIGH
    if kind in _WEBHOOKS and group == "admissionregistration.k8s.io":
        return RiskKind.ADMISSION_RULES_CHANGED, RiskLevel.HIGH
    if kind == "CustomResourceDefinition" and group == "apiextensions.k8s.io":
        return RiskKind.CRD_CHANGED, RiskLevel.HIGH
    if kind == "APIService" and group == "apiregistration.k8s.io":
        return RiskKind.API_SERVICE_CHANGED, RiskLevel.HIGH
    if kind == "Namespace" and not group:
        return RiskKind.NAMESPACE_CHANGED, RiskLevel.MEDIUM
    return (RiskKind.CLUSTER_SCOPED, RiskLevel.MEDIUM) if not subject.is_namespaced else None


def _without_records(obj: JSONObject) -> JSONObject:
    """Return an object without its status and what every write records; labels and annotations have effects."""
    metadata = {name: value for name, value in metadata_of(obj).items() if name not in _RECORDS}
    annotations = {name: text for name, text in map_at(metadata, "annotations").items() if name != ANNOTATION}
    kept = {name: value for name, value in obj.items() if name != "status"}
    return {**kept, "metadata": {**metadata, "annotations": annotations}}


def _is_changed(subject: RiskSubject) -> bool:
    if subject.manifest is None or subject.live is None or subject.result is None:
        return True
    return not is_same_json(_without_records(subject.live), _without_records(subject.result))


def find_reach(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of a change beyond a namespace, to permissions, or to what Kubernetes itself runs on."""
    if not _is_changed(subject):
        return
    facts = {"kind": subject.ref.gvk.kind, "name": subject.ref.name}
    reach = _reach_of(subject)
    if reach is not None:
        yield Risk(reach[0], reach[1], (), facts | list_reach_facts(reach[0], subject))
    is_namespace = reach is not None and reach[0] is RiskKind.NAMESPACE_CHANGED
    namespace = subject.ref.name if is_namespace else subject.ref.namespace
    if namespace.startswith(_SYSTEM_PREFIX):
        yield Risk(RiskKind.SYSTEM_NAMESPACE, RiskLevel.MEDIUM, (), {**facts, "namespace": namespace})


def find_secret(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of a changed Secret; the facts contain names of entries and never values."""
    if subject.ref.gvk.kind != "Secret" or subject.ref.gvk.group or subject.manifest is None:
        return
    live, result = subject.live or {}, subject.result or subject.manifest
    changed = [
        name
        for part in ("data", "stringData")
        for name in dict.fromkeys((*map_at(live, part), *map_at(result, part)))
        if map_at(live, part).get(name) != map_at(result, part).get(name)
    ]
    if changed:
        facts = {"entries": ", ".join(sorted(set(changed))), "count": str(len(set(changed)))}
        position = position_of(subject, ("data",))
        yield Risk(RiskKind.SECRET_CONTENT, RiskLevel.INFO, fields("data"), facts, position)
