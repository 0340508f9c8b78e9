"""The sentences of the choice for an addon: why, and what applyviz leaves to kOps."""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.channels.model import Addon, AddonPlan, AddonReason, AddonRecord

NEEDS_UPDATE = "kops.k8s.io/needs-update"
NODE_LABELS = {
    "control-plane": "node-role.kubernetes.io/master",
    "workers": "node-role.kubernetes.io/node",
    "all": "",
}
"""The label of the nodes that kOps marks; "" for all nodes. Nodes of new clusters have no label `master`."""
_SHOWN = 12
_REASONS = {
    AddonReason.NOT_INSTALLED: "Not installed: namespace {namespace} has no annotation {annotation}.",
    AddonReason.UNREADABLE_RECORD: "The annotation {annotation} of namespace {namespace} does not describe an addon.",
    AddonReason.NO_NAMESPACE: "Not installed: the cluster has no namespace {namespace}.",
    AddonReason.GREATER_VERSION: "Greater version: installed {old_version}, channel {version}.",
    AddonReason.LOWER_VERSION: "Lower version: installed {old_version}, channel {version}.",
    AddonReason.UNREADABLE_VERSION: "The installed version {old_version} is not a semantic version: the addon is "
    "applied again.",
    AddonReason.OTHER_ID: "Different id: installed {old_id}, channel {id}.",
    AddonReason.OTHER_MANIFEST: "Different manifest: installed {old_hash}, channel {hash}.",
    AddonReason.OLDER_GENERATION: "Installed by a kOps version that did not prune: it is applied again.",
    AddonReason.SAME: "Installed: same id and manifest.",
    AddonReason.NEWER_GENERATION: "Installed by a newer version of kOps.",
    AddonReason.OTHER_KUBERNETES: "For Kubernetes {range}; the server runs {kubernetes}.",
    AddonReason.UNREADABLE_RANGE: "The range {range} of Kubernetes versions is invalid: kOps ignores the entry.",
    AddonReason.OTHER_ENTRY: "Two entries of this name are for Kubernetes {kubernetes}: the later one counts, "
    "{preferred}. This one has {difference}.",
    AddonReason.LOWER_ENTRY: "Version {version} is lower than {preferred_version} of {preferred}, which counts.",
    AddonReason.SAME_ENTRY: "It has the id and the hash of {preferred}, which counts.",
    AddonReason.NOT_IN_CHANNEL: "Installed{origin}, but not in this channel: its objects and its annotation stay. To "
    "remove it, delete its objects, then the annotation {annotation} of namespace {namespace}.",
    AddonReason.OTHER_NAMESPACE: "Recorded in namespace {namespace}{origin}, but the channel records it in namespace "
    "{preferred_namespace}: kOps ignores this record. To remove it, delete the annotation {annotation}.",
    AddonReason.NO_MANIFEST: "Its manifest {file} is missing.",
    AddonReason.WRONG_HASH: "{file} is not the manifest of the channel: its SHA-256 is {found_hash}, the channel says "
    "{whole_hash}.",
}
_ENDINGS = {AddonReason.LOWER_VERSION: " It is never installed over a greater one."}
_ANYWAY = " kOps skips it; it is planned anyway."
NODE_GROUPS = {
    "control-plane": "the control plane nodes",
    "workers": "the worker nodes",
    "all": "all nodes",
}


def _shorten(text: str) -> str:
    return text[:_SHOWN] or "none"


def _describe_difference(addon: Addon, preferred: Addon) -> str:
    """Return the hashes of two entries of one name, or their ids if those alone differ."""
    if addon.manifest_hash == preferred.manifest_hash:
        return f"id {addon.id or 'none'}, that one {preferred.id or 'none'}"
    return f"hash {_shorten(addon.manifest_hash)}, that one {_shorten(preferred.manifest_hash)}"


def render_choice(plan: AddonPlan, kubernetes: str) -> str:
    """Return why an addon is installed, updated, skipped or not planned."""
    addon, installed = plan.addon, plan.installed or AddonRecord()
    preferred = plan.preferred or Addon("")
    ending = _ANYWAY if plan.is_anyway else _ENDINGS.get(plan.reason, "")
    return (_REASONS[plan.reason] + ending).format(
        namespace=addon.namespace,
        annotation=addon.annotation,
        file=addon.file,
        range=addon.kubernetes_version,
        kubernetes=kubernetes,
        id=addon.id or "none",
        hash=_shorten(addon.manifest_hash),
        version=addon.version,
        whole_hash=addon.manifest_hash,
        found_hash=plan.found_hash,
        preferred=preferred.position,
        preferred_version=preferred.version,
        preferred_namespace=preferred.namespace,
        difference=_describe_difference(addon, preferred),
        old_id=installed.id or "none",
        old_hash=_shorten(installed.manifest_hash),
        old_version=installed.version,
        origin=f" from {installed.channel}" if installed.channel else "",
    )


def list_notes(plan: AddonPlan) -> Iterator[str]:
    """Yield what the update of an addon does not do."""
    for kind in plan.unserved:
        yield f"The cluster does not serve kind {kind}, so nothing of it is pruned."


def _describe_marking(plan: AddonPlan) -> str:
    """Return what kOps does with the nodes."""
    if plan.nodes is None:
        return f"kOps marks them with the annotation {NEEDS_UPDATE}, applyviz does not."
    if not plan.nodes:
        return f"kOps marks nodes with the label {NODE_LABELS[plan.addon.needs_rolling_update]}, and no node has it."
    names = ", ".join(plan.nodes) + (f" and {plan.more_nodes} more" if plan.more_nodes else "")
    if plan.marked:
        return f"the plan marks {names} with the annotation {NEEDS_UPDATE}, as kOps does."
    return f"kOps marks {names} with the annotation {NEEDS_UPDATE}, applyviz does not."


def list_duties(plan: AddonPlan) -> Iterator[str]:
    """Yield what kOps does for an addon beside applying it, and whether applyviz does it."""
    if plan.marks_nodes:
        yield f"Needs a rolling update of {NODE_GROUPS[plan.addon.needs_rolling_update]}: {_describe_marking(plan)}"
    if plan.is_applied and plan.addon.needs_pki:
        name = plan.addon.name
        yield f"Needs a CA: applyviz does not create Secret {name}-ca and Issuer {name} in kube-system."
