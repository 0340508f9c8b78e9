"""What a person chooses from to move field ownership: live fields of one object, and field managers of a plan."""

from __future__ import annotations

from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.diff.embedded import names_secret
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyMode, TakenManager
from applyviz.records.models import Plan
from applyviz.web.components.values import Shown, show_value
from applyviz.workflow.plans import handovers, ownership_moves
from applyviz.workflow.plans.ownership_moves import OtherManager

_BY_HAND = ("kubectl-edit", "kubectl-set", "kubectl-patch", "kubectl-scale", "kubectl-label", "kubectl-annotate")


class FieldChoice(Struct, frozen=True):
    """One field to tick: the value in the manifest, the live value, and who wrote it."""

    number: str
    path: str
    manifest: Shown | None
    live: Shown | None
    owners: str
    is_ticked: bool


class LiveFieldsPage(Struct, frozen=True):
    """The fields of one object that its manifest may take; without any, `why` says so."""

    kind: str
    name: str
    paths: tuple[FieldPath, ...]
    choices: tuple[FieldChoice, ...]
    is_server_side: bool
    why: str = ""


class ManagersPage(Struct, frozen=True):
    """The other field managers: those that can move, those that move in single objects, and those that stay."""

    movable: tuple[OtherManager, ...]
    singles: tuple[TakenManager, ...]
    staying: tuple[OtherManager, ...]
    is_server_side: bool
    moves_own: bool
    has_own_switch: bool
    manager: str


def _explain_empty(change: PlannedObject) -> str:
    if change.versions.live is None:
        return _("The object does not exist yet, so there is nothing to take.")
    if names_secret(change.ref.gvk.kind):
        return _("Values of Secrets are not taken from the cluster: their author may not be allowed to read them.")
    return _("No other manager set a field of this object to a value that differs from the manifest.")


def present_live_fields(plan: Plan, change: PlannedObject) -> LiveFieldsPage:
    """Return the fields that the manifest of an object may take, those taken already first."""
    taken = tuple(dict.fromkeys(one.path for one in handovers.list_taken(plan, change.ref)))
    by_path = {one.path: one for one in handovers.list_live_fields(plan, change)}
    choices = [
        FieldChoice(str(number), render_path(path), None, None, _("taken by this plan"), is_ticked=True)
        for number, path in enumerate(taken)
    ]
    for one in (one for path, one in by_path.items() if path not in taken):
        choices.append(
            FieldChoice(
                str(len(choices)),
                render_path(one.path),
                None if one.is_new else show_value(one.manifest),
                show_value(one.live),
                ", ".join(one.managers),
                is_ticked=any(name in _BY_HAND for name in one.managers),
            )
        )
    paths = (*taken, *(path for path in by_path if path not in taken))
    is_server = options_from_json(plan.options).mode is ApplyMode.SERVER
    why = "" if choices else _explain_empty(change)
    return LiveFieldsPage(change.ref.gvk.kind, change.ref.name, paths, tuple(choices), is_server, why)


def present_managers(plan: Plan) -> ManagersPage:
    """Return the other field managers of a plan as its reader may see them."""
    options = options_from_json(plan.options)
    found = ownership_moves.list_managers(plan)
    is_server = options.mode is ApplyMode.SERVER
    own = CLIENT_SIDE_MANAGER if is_server else options.field_manager  # the first check box is about this one
    return ManagersPage(
        tuple(one for one in found if one.can_move and one.name != own),
        options.taken_managers,
        tuple(one for one in found if not one.can_move),
        is_server,
        options.takes_client_side,
        has_own_switch=not (is_server and options.field_manager == SERVER_SIDE_MANAGER),
        manager=options.field_manager,
    )
