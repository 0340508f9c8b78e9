"""The sentences of the choice for an addon: why, and what applyviz leaves to kOps."""

from __future__ import annotations

from collections.abc import Iterator

from applyviz.engine.channels.model import AddonPlan, AddonReason

_SHOWN = 12
_REASONS = {
    AddonReason.NOT_INSTALLED: "Not installed: namespace {namespace} has no annotation {annotation}.",
    AddonReason.UNREADABLE_RECORD: "The annotation {annotation} of namespace {namespace} does not describe an addon.",
    AddonReason.OTHER_ID: "Different id: installed {old_id}, channel {id}.",
    AddonReason.OTHER_MANIFEST: "Different manifest: installed {old_hash}, channel {hash}.",
    AddonReason.OLDER_GENERATION: "Installed by a kOps version that did not prune: it is applied again.",
    AddonReason.SAME: "Installed: same id and manifest.",
    AddonReason.NEWER_GENERATION: "Installed by a newer version of kOps.",
    AddonReason.OTHER_KUBERNETES: "For Kubernetes {range}; the server runs {kubernetes}.",
    AddonReason.UNREADABLE_RANGE: "The range {range} of Kubernetes versions is invalid: kOps ignores the entry.",
    AddonReason.OTHER_ENTRY: "A later entry with this name takes precedence.",
    AddonReason.NO_MANIFEST: "Its manifest {file} is missing.",
    AddonReason.WRONG_HASH: "{file} is not the manifest of the channel: its SHA-256 is not {hash}.",
}
_NODES = {
    "control-plane": "the control plane nodes",
    "workers": "the worker nodes",
    "all": "all nodes",
}


def _shorten(text: str) -> str:
    return text[:_SHOWN] or "none"


def render_choice(plan: AddonPlan, kubernetes: str) -> str:
    """Return why an addon is installed, updated, skipped or not planned."""
    addon, installed = plan.addon, plan.installed
    return _REASONS[plan.reason].format(
        namespace=addon.namespace,
        annotation=addon.annotation,
        file=addon.file,
        range=addon.kubernetes_version,
        kubernetes=kubernetes,
        id=addon.id or "none",
        hash=_shorten(addon.manifest_hash),
        old_id=(installed.id if installed else "") or "none",
        old_hash=_shorten(installed.manifest_hash if installed else ""),
    )


def list_duties(plan: AddonPlan) -> Iterator[str]:
    """Yield what kOps does for an addon beside applying it, and applyviz does not."""
    if plan.marks_nodes:
        nodes = _NODES[plan.addon.needs_rolling_update]
        yield f"Needs a rolling update of {nodes}: applyviz does not replace nodes."
    if plan.is_applied and plan.addon.needs_pki:
        name = plan.addon.name
        yield f"Needs a CA: applyviz does not create Secret {name}-ca and Issuer {name} in kube-system."
