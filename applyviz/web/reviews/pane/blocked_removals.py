"""How to complete a removal that will not happen: who must give up the field, how, and the command for it."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from applyviz.engine.planning.conflicts.blocked_removals import BlockedRemoval, Holder, Keeper
from applyviz.web.components.owners import OwnerChip, present_owner

Text = str | Promise
_ADVICE: dict[Keeper, Text] = {
    Keeper.APPLIER: gettext_lazy("must apply without it: remove the field from its manifest, then"),
    Keeper.CLIENT_SIDE: gettext_lazy("must apply without it: remove the field from its manifest, then"),
    Keeper.TOOL: gettext_lazy(
        "must remove it from its source (chart, application, kustomization); otherwise it comes back"
    ),
    Keeper.CONTROLLER: gettext_lazy("is a controller and will write it again: change its configuration"),
    Keeper.BY_HAND: gettext_lazy("set it manually; the command below is enough"),
}


class HolderRow(Struct, frozen=True):
    """One owner that keeps the field, and how it can give it up."""

    owner: OwnerChip
    text: Text
    command: str


class BlockedRemovalRow(Struct, frozen=True):
    """The steps that remove the field."""

    holders: tuple[HolderRow, ...]
    command: str
    outcome: str


def _present_holder(holder: Holder, you: str) -> HolderRow:
    command = f"{holder.command} …" if holder.command else ""
    return HolderRow(present_owner(holder.owner, you=you), _ADVICE[holder.keeper], command)


def _describe_outcome(release: BlockedRemoval) -> str:
    if not release.is_gone:
        return _("Even then, the next apply would keep the field: its owner must remove it first.")
    if release.returns:
        return _("Estimate: after this and your apply, the field is removed until its owner writes it again.")
    return _("Estimate: after this and your apply, the field is removed.")


def present_blocked_removal(release: BlockedRemoval, *, you: str) -> BlockedRemovalRow:
    """Return the steps for one removal that will not happen."""
    holders = tuple(_present_holder(holder, you) for holder in release.holders)
    return BlockedRemovalRow(holders, release.command, _describe_outcome(release))
