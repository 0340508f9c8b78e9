"""Which field managers give up their fields in the next plan of a review, chosen by a person.

Server-side, Update entries of other managers move into the Apply entry of the plan's manager; client-side, Apply
entries move into its Update entry. What is not chosen stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.objects.owners import describe_write
from applyviz.engine.objects.structs import replace
from applyviz.engine.ownership.managed_fields import APPLY, UPDATE
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, TakenManager
from applyviz.records.models import Plan
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import NotPossibleError, NotValidError
from applyviz.workflow.plans import plan_details, reviews


class OtherManager(Struct, frozen=True):
    """A field manager other than that of the plan: what it owns in the objects of the plan.

    - `can_move`: whether its fields can move in this mode; `is_chosen`: whether they move in this plan.
    """

    name: str
    operation: str
    subresource: str
    fields: int
    objects: int
    can_move: bool
    is_chosen: bool

    @property
    def how(self) -> str:
        """The operation, with the subresource that it goes through."""
        return describe_write(self.operation, self.subresource)


def list_managers(plan: Plan) -> tuple[OtherManager, ...]:
    """Return the other owners of fields of a plan's live objects as its reader may see them, the largest first."""
    options = options_from_json(plan.options)
    found = plan_details.read_owners(plan)
    movable = UPDATE if options.mode is ApplyMode.SERVER else APPLY
    counts: dict[tuple[str, str, str], list[int]] = {}
    for share in (share for one in (found.objects if found else ()) for share in one.shares if share.before):
        count = counts.setdefault((share.manager, share.operation, share.subresource), [0, 0])
        count[0] += share.before
        count[1] += 1
    own = (options.field_manager, APPLY if movable is UPDATE else UPDATE)
    managers = [
        OtherManager(*identity, fields=fields, objects=objects, can_move=can_move, is_chosen=can_move and is_named)
        for identity, (fields, objects) in counts.items()
        for can_move, is_named in [(identity[1:] == (movable, ""), identity[0] in options.takes_from)]
        if identity[:2] != own and identity[2] != "status"
    ]
    return tuple(sorted(managers, key=lambda one: (not one.can_move, -one.fields, one.name, one.how)))


def require_open(plan: Plan) -> None:
    """Raise `NotPossibleError` if a newer plan exists or this one applies nothing."""
    latest = plan.review.latest_plan
    if latest is None or latest.pk != plan.pk:
        raise NotPossibleError(_("this plan was superseded by a later plan; open that plan"))
    if not options_from_json(plan.options).is_applying:
        raise NotPossibleError(_("only a plan that applies manifests moves field ownership"))


def choose(
    plan: Plan, names: Collection[str], *, moves_own: bool, singles: Collection[TakenManager] = ()
) -> ApplyOptions:
    """Return the options of the next plan, in which exactly these managers give up their fields.

    - `moves_own`: whether fields move between client-side and server-side apply by the same tool too.
    - `singles`: of the managers that this plan names for single objects, those that still give up their fields there.
    - Raises `NotValidError` for the manager of the plan itself.
    """
    options = options_from_json(plan.options)
    if options.field_manager in names and options.mode is ApplyMode.CLIENT:
        raise NotValidError(_("the plan's own manager is not one of the others"))
    names = tuple(dict.fromkeys(names))
    kept = tuple(one for one in options.taken_managers if one in singles and one.manager not in names)
    return replace(options, takes_from=names, taken_managers=kept, takes_client_side=moves_own)


def move_ownership(
    plan: Plan, names: Collection[str], *, moves_own: bool, by: Person, singles: Collection[TakenManager] = ()
) -> Plan:
    """Request the next plan, in which exactly these managers give up their fields."""
    require_open(plan)
    options = choose(plan, names, moves_own=moves_own, singles=singles)
    return reviews.replan_review(plan.review, by=by, options=options, seen=plan)
