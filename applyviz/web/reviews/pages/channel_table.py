"""The addons of a kOps channel as a table: what the plan does with each, why, and what applyviz leaves to kOps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applyviz.engine.channels.model import AddonAction, AddonPlan, ChannelPlan
from applyviz.engine.channels.sentences import list_duties, render_choice
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.options import ApplyOptions
from applyviz.web.components.badges import Appearance

_SHOWN = 12
ADDON_STYLES: dict[AddonAction, Appearance] = {
    AddonAction.INSTALL: Appearance("+", gettext_lazy("install"), "add"),
    AddonAction.UPDATE: Appearance("~", gettext_lazy("update"), "change"),
    AddonAction.SKIP: Appearance("=", gettext_lazy("skip"), "calm"),
    AddonAction.NOT_PLANNED: Appearance("×", gettext_lazy("not planned"), "remove"),  # noqa: RUF001 the cross is drawn
}


@dataclass(frozen=True, slots=True)
class AddonRow:
    """One entry of the channel; `installed` and `offered` are the id and the beginning of the hash."""

    name: str
    namespace: str
    style: Appearance
    why: str
    installed: str
    offered: str
    prunes: str
    duties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChannelTable:
    """The channel and its rows."""

    location: str
    summary: str
    rows: tuple[AddonRow, ...]


def _name_version(id_: str, hashed: str) -> str:
    return " · ".join(filter(None, (id_, hashed[:_SHOWN])))


def _present_row(one: AddonPlan, kubernetes: str) -> AddonRow:
    addon, installed = one.addon, one.installed
    kinds = ", ".join(dict.fromkeys(kind.kind for kind in addon.prune)) if one.is_applied else ""
    return AddonRow(
        name=addon.name,
        namespace=addon.namespace,
        style=ADDON_STYLES[one.action],
        why=render_choice(one, kubernetes),
        installed=_name_version(installed.id, installed.manifest_hash) if installed else "",
        offered=_name_version(addon.id, addon.manifest_hash),
        prunes=kinds,
        duties=tuple(list_duties(one)),
    )


def _count(channel: ChannelPlan) -> Iterator[str]:
    counts = Counter(one.action for one in channel.addons)
    words: dict[AddonAction, str | Promise] = {
        AddonAction.INSTALL: _("%(n)d to install"),
        AddonAction.UPDATE: _("%(n)d to update"),
        AddonAction.NOT_PLANNED: _("%(n)d not planned"),
        AddonAction.SKIP: _("%(n)d skipped"),
    }
    for action, text in words.items():
        if counts[action]:
            yield str(text) % {"n": counts[action]}


def present_channel(options: ApplyOptions) -> ChannelTable | None:
    """Return the table of a plan; None for a plan of other manifests."""
    channel = options.channel
    if channel is None:
        return None
    rows = tuple(_present_row(one, channel.kubernetes) for one in channel.addons)
    counts = ", ".join(_count(channel))
    summary = " · ".join(filter(None, (counts, f"Kubernetes {channel.kubernetes}")))
    return ChannelTable(channel.location, summary, rows)


def list_addons(options: ApplyOptions) -> list[JSONObject]:
    """Return the addons of a channel for programs; empty for a plan of other manifests."""
    channel = options.channel
    return [
        {
            "name": one.addon.name,
            "namespace": one.addon.namespace,
            "action": one.action.value,
            "reason": one.reason.value,
            "why": render_choice(one, channel.kubernetes),
            "id": one.addon.id,
            "manifest": one.addon.file,
            "manifest_hash": one.addon.manifest_hash,
            "installed": None
            if one.installed is None
            else {"id": one.installed.id, "manifest_hash": one.installed.manifest_hash},
            "left_to_kops": list(list_duties(one)),
        }
        for one in (channel.addons if channel is not None else ())
        if channel is not None
    ]
