"""The ApplySets of a cluster: who belongs to which set, objects in two sets, members without a parent."""

from __future__ import annotations

from collections.abc import Iterable

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from msgspec import Struct

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.applyset_survey import FoundSet, ParentFault, SetMember
from applyviz.records.models import Cluster
from applyviz.web.components.object_links import link_object
from applyviz.workflow.live.applysets import ClusterSets, SharedObject
from applyviz.workflow.live.inventory import LiveGaps

SHOWN = 200
_FAULTS: dict[ParentFault, str | Promise] = {
    ParentFault.OTHER_ID: gettext_lazy(
        "Its label applyset.kubernetes.io/id is not the id of its name: kubectl refuses it."
    ),
    ParentFault.SHARED_ID: gettext_lazy("Another parent has the same id: the label of a member names both."),
    ParentFault.NO_TOOLING: gettext_lazy("It has no annotation applyset.kubernetes.io/tooling: kubectl refuses it."),
    ParentFault.NO_KINDS: gettext_lazy(
        "It has no annotation applyset.kubernetes.io/contains-group-kinds: kubectl cannot prune its members."
    ),
}


class NamedObject(Struct, frozen=True):
    """One object with its page; `note` says what is odd about it."""

    kind: str
    name: str
    namespace: str
    url: str
    note: str = ""


class SetCard(Struct, frozen=True):
    """One set: its parent, what it records, and at most `SHOWN` of its members."""

    parent: NamedObject
    tooling: str
    kinds: str
    namespaces: str
    faults: tuple[str, ...]
    members: tuple[NamedObject, ...]
    total: int


class SharedRow(Struct, frozen=True):
    """One object in two sets; `why` says how, `url` leads to the run that applied it to the other one."""

    object: NamedObject
    parent: NamedObject
    other: NamedObject
    why: str
    url: str


class ApplySetsPage(Struct, frozen=True):
    """The sets, those with members first; then objects in two sets, and members without a parent."""

    cards: tuple[SetCard, ...]
    empty: tuple[SetCard, ...]
    shared: tuple[SharedRow, ...]
    parentless: tuple[NamedObject, ...]
    reading: LiveGaps

    @property
    def has_any(self) -> bool:
        """Return whether any object has a label of ApplySets."""
        return bool(self.cards or self.empty or self.parentless)


def _name(cluster: Cluster, ref: ObjectRef, note: str = "") -> NamedObject:
    url = link_object(cluster.slug, ref.gvk.group, ref.gvk.kind, ref.namespace, ref.name)
    return NamedObject(ref.gvk.kind, ref.name, ref.namespace, url, note)


def _present_members(cluster: Cluster, members: Iterable[SetMember]) -> tuple[NamedObject, ...]:
    missed = _("kubectl's prune misses it: the parent does not record its kind or its namespace")
    return tuple(_name(cluster, one.ref, missed if one.is_missed else "") for one in members)


def _present_set(cluster: Cluster, one: FoundSet) -> SetCard:
    return SetCard(
        parent=_name(cluster, one.parent),
        tooling=one.tooling,
        kinds=", ".join(one.kinds),
        namespaces=", ".join(one.namespaces),
        faults=tuple(str(_FAULTS[fault]) for fault in one.faults),
        members=_present_members(cluster, one.members[:SHOWN]),
        total=len(one.members),
    )


def _present_shared(cluster: Cluster, one: SharedObject) -> SharedRow:
    why = _("the parents have the same id")
    if one.run:
        why = _("run %(number)d applied it to the other set; the next run of either set takes it") % {"number": one.run}
    return SharedRow(
        object=_name(cluster, one.ref),
        parent=_name(cluster, one.parent),
        other=_name(cluster, one.other),
        why=why,
        url=reverse("runs:show-run", args=[one.run]) if one.run else "",
    )


def present_applysets(cluster: Cluster, found: ClusterSets) -> ApplySetsPage:
    """Return the page of a cluster."""
    cards = [_present_set(cluster, one) for one in found.sets]
    lost = [member for one in found.parentless for member in one.members]
    return ApplySetsPage(
        cards=tuple(card for card in cards if card.total),
        empty=tuple(card for card in cards if not card.total),
        shared=tuple(_present_shared(cluster, one) for one in found.shared[:SHOWN]),
        parentless=_present_members(cluster, lost[:SHOWN]),
        reading=replace(found, is_cut=found.is_cut or len(lost) > SHOWN or len(found.shared) > SHOWN),
    )
