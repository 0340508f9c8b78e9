"""Preview of resolutions of many conflicts: each object with its fields and its request."""

from __future__ import annotations

from collections.abc import Mapping

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.objects.previews import FieldPreview, Preview, preview
from applyviz.records.models import Plan
from applyviz.web.components.object_links import link_change
from applyviz.web.components.owners import OwnerChip, present_owners
from applyviz.web.components.values import ABSENT, Shown, show_value
from applyviz.web.reviews.pane.conflicting import explain_impossible
from applyviz.web.reviews.pane.manifest_patches import PatchView, present_patch
from applyviz.web.reviews.pane.requests import RequestRow, present_request
from applyviz.web.reviews.pane.resolutions import name_resolution
from applyviz.workflow.plans.resolutions import Choice, ResolutionScope, list_impossible, list_refused

Text = str | Promise
SHOWN = 50


class PreviewField(Struct, frozen=True):
    """One field after the resolution."""

    path: str
    title: str
    live: Shown | None
    value: Shown | None
    owners_before: tuple[OwnerChip, ...]
    owners: tuple[OwnerChip, ...]
    patch: PatchView | None

    @property
    def tones(self) -> tuple[str, str]:
        """Return the tones of both values: a change only when they differ."""
        return ("was", "will") if self.live != self.value else ("same", "same")


class PreviewObject(Struct, frozen=True):
    """One object after the resolutions; without `request` nothing is sent yet, because conflicts stay open."""

    name: str
    kind: str
    namespace: str
    url: str
    fields: tuple[PreviewField, ...]
    still_open: tuple[str, ...]
    request: RequestRow | None
    explanation: Text


class UnresolvedField(Struct, frozen=True):
    """One field whose conflict stays open because the resolution is not possible, and why."""

    kind: str
    name: str
    namespace: str
    url: str
    path: str
    why: Text


class PreviewPage(Struct, frozen=True):
    """The preview page: the result, and the form that resolves.

    - `unresolved`: fields of the selection whose conflicts stay open.
    """

    title: str
    back_url: str
    form_url: str
    hidden: tuple[tuple[str, str], ...]
    note: str
    objects: tuple[PreviewObject, ...]
    more: int
    count: int
    unresolved: tuple[UnresolvedField, ...] = ()

    @property
    def listed(self) -> tuple[UnresolvedField, ...]:
        """Return the unresolved fields that the page lists."""
        return self.unresolved[:SHOWN]

    @property
    def more_unresolved(self) -> int:
        """Return the number of unresolved fields that the page does not list."""
        return len(self.unresolved[SHOWN:])


def _explain(shown: Preview) -> Text:
    if shown.still_open:
        return _("Nothing is sent for this object until all its conflicts are resolved.")
    if shown.takes_over and shown.is_edited:
        return _(
            "Sent with force. --force-conflicts applies to the whole request, so fields that you give up or share "
            "are edited in the body; force affects only the fields that you overwrite."
        )
    if shown.takes_over:
        return _("Sent with force: overwrites every conflicting field of this object.")
    return _("Sent without force: the edited body has no conflicts.")


def _present_field(change: engine.PlannedObject, found: FieldPreview, managers: str, you: str) -> PreviewField:
    reason = next((r for r in change.fields if r.path == found.path), None)
    return PreviewField(
        path=render_path(found.path),
        title=name_resolution(found.option.resolution, managers),
        live=show_value(change.versions.in_live.find(found.path)),
        value=show_value(found.option.value if found.option.is_present else ABSENT),
        owners_before=present_owners(reason.owners_before, you=you) if reason else (),
        owners=present_owners(found.option.owners, you=you),
        patch=present_patch(found.option.patch, url=""),
    )


def present_object(
    change: engine.PlannedObject, chosen: Mapping[FieldPath, ResolutionKind], *, url: str, you: str
) -> PreviewObject:
    """Return one object with the resolutions applied as far as possible."""
    shown = preview(change, chosen)
    managers = {one.path: ", ".join(one.managers) for one in change.open_fields}
    return PreviewObject(
        name=change.ref.name,
        kind=change.ref.gvk.kind,
        namespace=change.ref.namespace,
        url=url,
        fields=tuple(_present_field(change, f, managers.get(f.path, ""), you) for f in shown.fields),
        still_open=tuple(render_path(path) for path in shown.still_open),
        request=present_request(shown.request) if shown.request is not None else None,
        explanation=_explain(shown),
    )


def present_unresolved(
    plan: Plan, resolution: ResolutionKind, *, scope: ResolutionScope | None
) -> tuple[UnresolvedField, ...]:
    """Return the fields of a selection that cannot be resolved this way, with the reason that their object shows."""
    you = options_from_json(plan.options).field_manager
    found = []
    for position, (change, paths) in list_impossible(plan, resolution, scope=scope).items():
        ref, url = change.ref, link_change(plan, position)
        options = {field.path: o for field in change.open_fields for o in field.options if o.resolution is resolution}
        for path in paths:
            why = explain_impossible(options[path], you=you)
            found.append(UnresolvedField(ref.gvk.kind, ref.name, ref.namespace, url, render_path(path), why))
    return tuple(found)


def present_preview(
    plan: Plan,
    choices: list[Choice],
    *,
    form_url: str,
    hidden: tuple[tuple[str, str], ...],
    note: str = "",
    unresolved: tuple[UnresolvedField, ...] = (),
) -> PreviewPage:
    """Return the result object by object; long plans show the first objects and count the rest."""
    you = options_from_json(plan.options).field_manager
    chosen: dict[tuple[str, str, str, str], dict[FieldPath, ResolutionKind]] = {}
    for choice in choices:
        chosen.setdefault(choice.ref.key, {})[choice.path] = choice.resolution
    objects: list[PreviewObject] = []
    more = 0
    for position, change in list_refused(plan):
        if change.ref.key not in chosen:
            continue
        if len(objects) == SHOWN:
            more += 1
            continue
        url = link_change(plan, position)
        objects.append(present_object(change, chosen[change.ref.key], url=url, you=you))
    return PreviewPage(
        title=plan.review.title,
        back_url=objects[0].url
        if len(objects) == 1
        else reverse("reviews:show-plan", args=[plan.review.number, plan.number]),
        form_url=form_url,
        hidden=hidden,
        note=note,
        objects=tuple(objects),
        more=more,
        count=len({(choice.ref.key, choice.path) for choice in choices}),
        unresolved=unresolved,
    )
