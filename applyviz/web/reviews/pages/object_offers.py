"""The buttons beside a refused or replaced object: what the next plan may do with it instead."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.channels.model import AddonPlan
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.requests.options import Propagation
from applyviz.engine.requests.replacement import list_object_names
from applyviz.records.models import ObjectChange, Plan
from applyviz.web.components.notices import PostAction, Text
from applyviz.web.components.propagations import PROPAGATIONS
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.plans import changes, reviews
from applyviz.workflow.plans.live_values import list_rows
from applyviz.workflow.plans.object_choices import AddonChoice, ObjectChoice, list_addon_choices

MOST_TOGETHER = 50


def _can_choose(plan: Plan, person: Person) -> bool:
    return reviews.can_be_followed(plan) and access.can(person, Action.WRITE, access.scopes_of(plan.review))


def find_others_url(plan: Plan, person: Person) -> str:
    """Return where this person chooses the objects that the next plan leaves out; "" if they cannot, or not now."""
    if plan.review.applied_by or not _can_choose(plan, person):
        return ""
    return reverse("reviews:plan-others", args=[plan.review.number, plan.number])


def find_ownership_url(plan: Plan, person: Person) -> str:
    """Return where this person chooses the field managers whose fields move; "" if they cannot, or not now."""
    if plan.review.applied_by or not options_from_json(plan.options).is_applying or not _can_choose(plan, person):
        return ""
    return reverse("reviews:move-ownership", args=[plan.review.number, plan.number])


def _order_propagations(chosen: Propagation) -> tuple[tuple[str, Text], ...]:
    """Return the ways to delete, the chosen one first."""
    return tuple(sorted(PROPAGATIONS, key=lambda one: one[0] != chosen.value))


def list_replaceable(plan: Plan, rows: Sequence[ObjectChange]) -> tuple[ObjectChange, ...]:
    """Return those of these rows whose objects a replacement would help, at most the first `MOST_TOGETHER`.

    - `rows`: refused ones, as their reader sees them, without their documents.
    """
    positions = [row.position for row in rows if row.operation == Operation.ERROR][:MOST_TOGETHER]
    found = list_rows(plan, Q(position__in=positions), with_documents=True) if positions else ()
    return tuple(row for row in found if changes.read_masked(row).can_be_replaced)


def present_replacements(plan: Plan, person: Person, rows: Sequence[ObjectChange]) -> tuple[PostAction, ...]:
    """Return the button that replaces all these objects at once; () if this person cannot choose, or not now."""
    if not rows or not _can_choose(plan, person):
        return ()
    names = {"name": f"{rows[0].kind}/{rows[0].name}", "n": len(rows)}
    text = ngettext("Replace %(name)s", "Replace %(n)d objects", len(rows)) % names
    help_text = ngettext(
        "Creates the next plan, which deletes the object and re-creates it from the manifest. "
        "The plan shows what is lost.",
        "Creates the next plan, which deletes these objects and re-creates them from the manifests. "
        "The plan shows what is lost.",
        len(rows),
    )
    return (
        PostAction(
            text,
            reverse("reviews:replace-objects", args=[plan.review.number, plan.number]),
            tuple(("objects", str(row.position)) for row in rows),
            help=help_text,
            label=_("Dependents"),
            name="propagation",
            choices=_order_propagations(options_from_json(plan.options).propagation),
        ),
    )


def _offer_addon(one: AddonPlan, choice: AddonChoice, url: str) -> PostAction:
    words: dict[AddonChoice, tuple[str, str]] = {
        AddonChoice.PLAN: (
            _("Plan it anyway"),
            _("Creates the next plan, which applies this addon although kOps skips it. It needs its own approval."),
        ),
        AddonChoice.SKIP: (_("Skip it again"), ""),
        AddonChoice.MARK: (
            _("Mark the nodes"),
            _("Creates the next plan, which also marks these nodes. The next rolling update of kOps replaces them."),
        ),
        AddonChoice.DO_NOT_MARK: (_("Don't mark the nodes"), ""),
    }
    text, help_text = words[choice]
    return PostAction(text, url, (("addon", one.addon.name), ("choice", choice.value)), help=help_text)


def present_addon_offers(plan: Plan, person: Person, addons: Sequence[AddonPlan]) -> tuple[tuple[PostAction, ...], ...]:
    """Return the buttons of each addon; none where there is no choice, or not for this person, or not now."""
    if plan.review.applied_by or not _can_choose(plan, person):
        return ((),) * len(addons)
    url = reverse("reviews:choose-addon", args=[plan.review.number, plan.number])
    return tuple(tuple(_offer_addon(one, choice, url) for choice in list_addon_choices(one)) for one in addons)


def present_offers(plan: Plan, person: Person, position: int, change: PlannedObject) -> tuple[PostAction, ...]:
    """Return the buttons of one object, as this reader sees it; () if this person cannot choose, or not now."""
    options = options_from_json(plan.options)
    is_named = not set(list_object_names(change.ref)).isdisjoint(options.replacement.objects)
    is_chosen = change.operation is Operation.REPLACE and is_named
    if not (change.can_be_replaced or is_chosen) or not _can_choose(plan, person):
        return ()
    url = reverse("reviews:choose-object", args=[plan.review.number, plan.number, position])
    name = {"name": f"{change.ref.gvk.kind}/{change.ref.name}"}
    if is_chosen:
        return (PostAction(_("Don't replace %(name)s") % name, url, (("choice", ObjectChoice.UPDATE.value),)),)
    help_text = _(
        "Creates the next plan, which deletes the object and re-creates it from the manifest. "
        "The plan shows what is lost."
    )
    return (
        PostAction(
            _("Replace %(name)s") % name,
            url,
            (("choice", ObjectChoice.REPLACE.value),),
            help=help_text,
            label=_("Dependents"),
            name="propagation",
            choices=_order_propagations(options.propagation),
        ),
    )
