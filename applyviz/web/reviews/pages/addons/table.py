"""The addons of a kOps channel as a table: what the plan does with each, why, and what applyviz leaves to kOps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from applyviz.engine.channels.model import (
    SYSTEM_GENERATION,
    Addon,
    AddonAction,
    AddonPlan,
    AddonReason,
    AddonRecord,
    ChannelPlan,
)
from applyviz.engine.channels.sentences import list_duties, list_notes, render_choice
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import Plan
from applyviz.web.components.badges import Appearance

_SHOWN = 12
_NOT_OFFERED = (AddonReason.NOT_IN_CHANNEL, AddonReason.OTHER_NAMESPACE)
ADDON_STYLES: dict[AddonAction, Appearance] = {
    AddonAction.INSTALL: Appearance("+", gettext_lazy("install"), "add"),
    AddonAction.UPDATE: Appearance("~", gettext_lazy("update"), "change"),
    AddonAction.SKIP: Appearance("=", gettext_lazy("skip"), "calm"),
    AddonAction.NOT_PLANNED: Appearance("×", gettext_lazy("not planned"), "remove"),  # noqa: RUF001 the cross is drawn
}


class AddonRow(Struct, frozen=True):
    """One entry of the channel; `installed` and `offered` are the version, the id and the beginning of the hash.

    - `where`: file and line of the entry, "" for an addon that the channel does not list.
    """

    name: str
    namespace: str
    style: Appearance
    why: str
    installed: str
    offered: str
    prunes: str
    duties: tuple[str, ...]
    range: str
    where: str
    is_skipped: bool


class ChannelTable(Struct, frozen=True):
    """The channel and its rows."""

    location: str
    summary: str
    rows: tuple[AddonRow, ...]


def _name_version(version: str, id_: str, hashed: str) -> str:
    return " · ".join(filter(None, (version, id_, hashed[:_SHOWN])))


def _present_row(one: AddonPlan, kubernetes: str) -> AddonRow:
    addon, installed = one.addon, one.installed
    kinds = ", ".join(dict.fromkeys(kind.kind for kind in addon.prune)) if one.is_applied else ""
    return AddonRow(
        name=addon.name,
        namespace=addon.namespace,
        style=ADDON_STYLES[one.action],
        why=render_choice(one, kubernetes),
        installed=_name_version(installed.version, installed.id, installed.manifest_hash) if installed else "",
        offered=_name_version(addon.version, addon.id, addon.manifest_hash),
        prunes=kinds,
        duties=(*list_duties(one), *list_notes(one)),
        range=addon.kubernetes_version,
        where=str(addon.position) if addon.position.file else "",
        is_skipped=one.action is AddonAction.SKIP,
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
    return None if options.channel is None else present_addons(options.channel)


def present_addons(channel: ChannelPlan) -> ChannelTable:
    """Return the table of a channel."""
    rows = tuple(_present_row(one, channel.kubernetes) for one in channel.addons)
    counts = ", ".join(_count(channel))
    summary = " · ".join(filter(None, (counts, f"Kubernetes {channel.kubernetes}")))
    return ChannelTable(channel.location, summary, rows)


def _present_offer(addon: Addon) -> JSONObject:
    return {
        "version": addon.version,
        "id": addon.id,
        "manifestHash": addon.manifest_hash,
        "systemGeneration": SYSTEM_GENERATION,
        "kubernetesVersion": addon.kubernetes_version,
        "manifest": addon.file,
    }


def _present_record(record: AddonRecord) -> JSONObject:
    return {
        "version": record.version,
        "id": record.id,
        "manifestHash": record.manifest_hash,
        "systemGeneration": record.generation,
        "channel": record.channel,
    }


def _list_positions(plan: Plan) -> Mapping[str, list[int]]:
    """Return the positions of the objects of each addon, in the order of the plan."""
    found: dict[str, list[int]] = {}
    for position, addon in plan.changes.order_by("position").values_list("position", "document__addon"):
        found.setdefault(addon or "", []).append(position)
    return found


def list_addons(plan: Plan, options: ApplyOptions) -> list[JSONObject]:
    """Return the addons of a channel for programs; empty for a plan of other manifests."""
    channel = options.channel
    if channel is None:
        return []
    positions = _list_positions(plan)
    return [
        {
            "name": one.addon.name,
            "namespace": one.addon.namespace,
            "decision": one.action.value,
            "rule": one.reason.value,
            "anyway": one.is_anyway,
            "marked_nodes": list(one.marked),
            "why": render_choice(one, channel.kubernetes),
            "installed": None if one.installed is None else _present_record(one.installed),
            "offered": None if one.reason in _NOT_OFFERED else _present_offer(one.addon),
            "objects": positions.get(one.addon.name, []) if one.is_applied else [],
            "notes": [*list_duties(one), *list_notes(one)],
            "file": one.addon.position.file,
            "line": one.addon.position.line,
        }
        for one in channel.addons
    ]
