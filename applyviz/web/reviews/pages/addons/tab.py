"""The Addons tab: the choice for each addon of a kOps channel with its reason, and the objects of the chosen ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from applyviz.engine.planning.model.plan import Operation
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.notices import PostAction
from applyviz.web.reviews.pages.addons.table import AddonRow, ChannelTable, present_channel
from applyviz.web.reviews.pages.object_offers import present_addon_offers
from applyviz.web.reviews.pages.plan_context import PlanContext, link_objects


class AddonObject(Struct, frozen=True):
    """One object of an addon."""

    style: Appearance
    kind: str
    name: str
    namespace: str
    url: str


class AddonGroup(Struct, frozen=True):
    """One addon of the channel and its objects, in the order of the plan; `offers` choose for the next plan."""

    row: AddonRow
    objects: tuple[AddonObject, ...]
    offers: tuple[PostAction, ...] = ()


class AddonsTab(Struct, frozen=True):
    """The addons that the plan applies or cannot plan, and the skipped ones.

    - `others`: the objects of manifests that no addon names.
    """

    channel: ChannelTable
    groups: tuple[AddonGroup, ...]
    skipped: tuple[AddonGroup, ...]
    others: tuple[AddonObject, ...]


def _group_objects(context: PlanContext) -> Mapping[str, list[AddonObject]]:
    url_of = link_objects(context.plan)
    named: Iterable[tuple[int, str | None]] = context.plan.changes.values_list("position", "document__addon")
    addon_of = dict(named)
    found: dict[str, list[AddonObject]] = {}
    for row in sorted(context.changes, key=lambda row: row.position):
        shown = AddonObject(
            OBJECT_STYLES[Operation(row.operation)], row.kind, row.name, row.namespace, url_of(row.position)
        )
        found.setdefault(addon_of.get(row.position) or "", []).append(shown)
    return found


def present_addons(context: PlanContext) -> AddonsTab | None:
    """Return the tab; None for a plan of other manifests."""
    channel = present_channel(context.options)
    if channel is None or context.options.channel is None:
        return None
    objects = _group_objects(context)
    offers = present_addon_offers(context.plan, context.person, context.options.channel.addons)
    groups = [
        AddonGroup(row, () if row.is_skipped else tuple(objects.get(row.name, ())), own)
        for row, own in zip(channel.rows, offers, strict=True)
    ]
    return AddonsTab(
        channel,
        tuple(group for group in groups if not group.row.is_skipped),
        tuple(group for group in groups if group.row.is_skipped),
        tuple(objects.get("", ())),
    )
