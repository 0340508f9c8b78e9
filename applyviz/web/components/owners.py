"""A field owner as a chip: monogram, name, and how it wrote.

Rule: `Apply` and `Update` entries of one manager name are two owners, so the operation is always said
(https://kubernetes.io/docs/reference/using-api/server-side-apply/, field management). Names that every
cluster has get a word of explanation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.objects.owners import Owner, OwnerIdentity, describe_write
from applyviz.engine.objects.structs import replace

_KNOWN: dict[str, str | Promise] = {
    "before-first-apply": _("fields set before the first server-side apply"),
    CLIENT_SIDE_MANAGER: _("kubectl apply, client-side"),
    "kubectl-last-applied": _("kubectl last-applied annotation"),
    "kubectl": _("kubectl apply --server-side"),
    "kubectl-edit": _("kubectl edit (manual)"),
    "kubectl-patch": _("kubectl patch (manual)"),
    "kubectl-set": _("kubectl set (manual)"),
    "kubectl-scale": _("kubectl scale (manual)"),
    "kubectl-label": _("kubectl label (manual)"),
    "kubectl-annotate": _("kubectl annotate (manual)"),
    "kubectl-rollout": _("kubectl rollout (manual)"),
    "kube-controller-manager": _("built-in controller"),
    "helm": _("Helm release"),
    "argocd-controller": _("Argo CD"),
    "kustomize-controller": _("Flux"),
    "node-fetch": _("unnamed client"),
}


class OwnerChip(Struct, frozen=True):
    """One field owner as a page shows it; `has_twin` where the page shows its manager with another operation, too."""

    name: str
    monogram: str
    operation: str
    subresource: str
    is_update: bool
    is_you: bool
    about: str | Promise
    time: str
    has_twin: bool = False

    @property
    def identity(self) -> OwnerIdentity:
        """Return the key that identifies the same owner at another time."""
        return self.name, self.operation, self.subresource

    @property
    def title(self) -> str:
        """Return the name, which a narrow column cuts, with what it is known for."""
        return f"{self.name}: {self.about}" if self.about else self.name

    @property
    def how(self) -> str:
        """Return the operation, with the subresource of the write."""
        return describe_write(self.operation, self.subresource)


def is_handed_on(before: Iterable[OwnerChip], after: Iterable[OwnerChip]) -> bool:
    """Return whether the owners of a field change."""
    return {chip.identity for chip in before} != {chip.identity for chip in after}


def _monogram(name: str) -> str:
    words = [w for w in re.split(r"[^0-9A-Za-z]+", name) if w]
    if not words:
        return "?"
    letters = words[0][:2] if len(words) == 1 else words[0][0] + words[1][0]
    return letters.lower()


def present_owner(owner: Owner, *, you: str = "") -> OwnerChip:
    """Return the chip of one owner; `you` is the field manager of the plan."""
    is_autoscaler = owner.manager == "kube-controller-manager" and owner.subresource == "scale"
    return OwnerChip(
        name=owner.manager,
        monogram=_monogram(owner.manager),
        operation=owner.operation,
        subresource=owner.subresource,
        is_update=owner.operation == "Update",
        is_you=owner.manager == you,
        about=_("autoscaler") if is_autoscaler else _KNOWN.get(owner.manager, ""),
        time=owner.time,
    )


def present_owners(owners: tuple[Owner, ...], *, you: str = "") -> tuple[OwnerChip, ...]:
    """Return the chips of several owners, in order."""
    return tuple(present_owner(o, you=you) for o in owners)


def find_twins(chips: Iterable[OwnerChip]) -> frozenset[str]:
    """Return the manager names that occur with several operations."""
    operations: dict[str, set[str]] = {}
    for chip in chips:
        operations.setdefault(chip.name, set()).add(chip.how)
    return frozenset(name for name, found in operations.items() if len(found) > 1)


def mark_twins(chips: tuple[OwnerChip, ...], twins: frozenset[str]) -> tuple[OwnerChip, ...]:
    """Return chips of which those with a twin say how they wrote, even in a narrow column."""
    return tuple(replace(chip, has_twin=True) if chip.name in twins else chip for chip in chips)
