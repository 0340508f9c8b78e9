"""Risks from the context of an object: other tools that manage it, missing dependencies, the entries of a Secret.

Rule: labels and annotations by which tools mark their objects (ApplySet KEP-3659, Helm, Argo CD, Flux, controllers'
ownerReferences).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from applyviz.engine.objects.known_names import PART_OF
from applyviz.engine.objects.paths import FieldPath, field, fields
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.risks.immutable import find_definition
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, RiskSubject, Templates
from applyviz.engine.risks.rules import rule
from applyviz.engine.risks.walking import map_at, metadata_of, position_of, texts_of

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


_OWNER = ("apiVersion", "kind", "name", "uid")


def _describe_owner(f: Facts) -> Templates:
    outcome = "create it again" if f.get("deleted") else "revert the change"
    return ("{tool} {name} manages this object and may " + outcome + ".",)


BELONGS_TO_OTHER = RiskKind("belongs-to-other", "Managed by another tool", _describe_owner, policy_order=160)


def _describe_new_owner(f: Facts) -> Templates:
    if f.get("renamed"):
        return (
            "An owner gets another name, {owners}: if no object of this name has its uid, the garbage collector "
            "deletes this object after its next start.",
        )
    return (
        "{owners} becomes an owner: the garbage collector deletes this object when its owners are gone, and at once if "
        "they do not exist.",
    )


GAINS_OWNER = RiskKind(
    "gains-owner",
    "Deleted with its new owner",
    _describe_new_owner,
    level=RiskLevel.HIGH,
    policy_order=165,
)
CREATED_IN_SAME_SET = RiskKind(
    "created-in-same-set",
    "Depends on another object in this set",
    "The {what} {name} is created by this set, so the dry run is not possible yet.",
    level=RiskLevel.INFO,
)
SECRET_CONTENT = RiskKind(
    "secret-content",
    "Secret content changes",
    lambda f: (
        "1 entry of this Secret changes: {entries}."
        if f["count"] == "1"
        else "{count} entries of this Secret change: {entries}.",
    ),
    level=RiskLevel.INFO,
)


@rule(260)
def find_other_tool(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of a live object that belongs to another ApplySet, a release, an application or a controller.

    - An unchanged object has no such risk, because the other tool has no change to revert.
    """
    if subject.is_unchanged:
        return
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
            yield BELONGS_TO_OTHER.at(fields("metadata", "ownerReferences"), facts)


def _belongs(path: FieldPath, mark: str, tool: str, name: str) -> Risk:
    return BELONGS_TO_OTHER.at((*path, field(mark)), {"tool": tool, "name": name})


def _list_owners(obj: JSONObject | None) -> dict[tuple[str, ...], str]:
    """Return the kind and name of each owner of an object, by all that the garbage collector looks it up with."""
    found = metadata_of(obj).get("ownerReferences")
    owners = (one for one in found if isinstance(one, Mapping)) if isinstance(found, list) else ()
    return {tuple(str(one.get(name)) for name in _OWNER): f"{one.get('kind')} {one.get('name')}" for one in owners}


@rule(265)
def find_new_owners(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of a live object that gets an owner: the garbage collector deletes it with its owners.

    - An owner that is named differently under the same uid is another one: the collector knows it by its uid as long as
      it runs, and looks it up by its name once it starts again.
    """
    before, after = _list_owners(subject.live), _list_owners(subject.result)
    new = {owner: name for owner, name in after.items() if owner not in before}
    if new and subject.live is not None:
        path = ("metadata", "ownerReferences")
        is_renamed = {owner[-1] for owner in new} <= {owner[-1] for owner in before}
        facts = {"owners": ", ".join(new.values()), **({"renamed": "yes"} if is_renamed else {})}
        yield GAINS_OWNER.at(fields(*path), facts, position_of(subject, path))


@rule(270)
def find_same_set(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of a namespace or definition that the same set creates.

    - Nothing is reported after a dry run of the object, because its dependencies exist then.
    """
    if subject.live is not None or subject.manifest is None or metadata_of(subject.after).get("uid"):
        return
    beside, namespace = subject.related, subject.ref.namespace
    if namespace in beside.namespaces and ("Namespace", namespace) not in beside.live_names:
        facts = {"what": "namespace", "name": namespace}
        position = position_of(subject, ("metadata", "namespace"))
        yield CREATED_IN_SAME_SET.at(fields("metadata", "namespace"), facts, position)
    definition = find_definition(subject, subject.ref.gvk)
    name = str(metadata_of(definition).get("name"))
    if definition is not None and ("CustomResourceDefinition", name) not in beside.live_names:
        facts = {"what": "CustomResourceDefinition", "name": name}
        yield CREATED_IN_SAME_SET.at(fields("kind"), facts)


@rule(280)
def find_secret(subject: RiskSubject) -> Iterator[Risk]:
    """Yield the risk of a changed Secret; the facts contain names of entries and never values."""
    if subject.ref.gvk.kind != "Secret" or subject.ref.gvk.group or subject.manifest is None or subject.is_refused:
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
        yield SECRET_CONTENT.at(fields("data"), facts, position_of(subject, ("data",)))
