"""Presets: saved options of new reviews, for a team and a cluster, kept by administrators.

A preset fills the form (or the body of a request), and nothing else reads it: the options of a plan are those that were
sent, and its digest covers them. A review remembers which preset filled its form, and what its author changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.db import IntegrityError, transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct, field

from applyviz import clock
from applyviz.engine.objects.values import JSONObject
from applyviz.records.enums import AuditAction
from applyviz.records.models import Cluster, Preset, Team
from applyviz.sources.links import hide_query
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import FieldRefusedError, NotPossibleError, NotVisibleError
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.foundation.visible_rows import get_visible
from applyviz.workflow.people import humans

CLUSTER = "cluster"
FIELDS = (
    "links", "git_repository", "git_ref", "git_path", "follow", "kustomization", "chart", "chart_repository",
    "chart_version", "chart_release", "chart_values_files", "chart_hooks", "namespace", "applied_by", "operation",
    "mode", "field_manager", "takes_client_side", "takes_from", "clear_patch", "patch_objects", "patch_type",
    "patch_subresource", "prune", "selector", "prune_all", "prune_allowlist", "applyset", "prune_except", "replace",
    "propagation", "deletion_seconds",
)  # fmt: skip
"""The fields of the form that a preset fills, in the order of the page."""


class PresetDraft(Struct, frozen=True):
    """A preset as entered; `options` hold the text of each of `FIELDS`, a missing one is the default of the form."""

    slug: str
    name: str
    description: str = ""
    title: str = ""
    team: Team | None = None
    cluster: Cluster | None = None
    options: Mapping[str, str] = field(default_factory=dict)


class UsedPreset(Struct, frozen=True):
    """The preset that filled a form, and the fields that the author of the review changed (`find_changes`)."""

    preset: Preset
    changes: tuple[JSONObject, ...] = ()


def _require_manager(by: Person | None) -> None:
    if by is not None:
        access.require(by, Action.MANAGE)


def list_presets(*, for_user: Person | None) -> QuerySet[Preset]:
    """Return the presets in force; for administrators, None is the operator of the server."""
    _require_manager(for_user)
    return Preset.objects.filter(archived_at=None).select_related("team", "cluster", "changed_by")


def count_reviews(found: QuerySet[Preset]) -> Mapping[int, int]:
    """Return how many reviews each preset filled, by its id."""
    return dict(found.order_by().values_list("pk").annotate(count=Count("reviews")))


def list_teams(*, for_user: Person | None) -> QuerySet[Team]:
    """Return the teams that a preset may be for."""
    _require_manager(for_user)
    return Team.objects.filter(archived_at=None)


def list_clusters(*, for_user: Person | None) -> QuerySet[Cluster]:
    """Return the clusters that a preset may lead to."""
    _require_manager(for_user)
    return Cluster.objects.filter(archived_at=None).defer("credential").order_by("slug")


def get_preset(slug: str, *, for_user: Person | None) -> Preset:
    """Return one preset in force; raises `NotVisibleError`."""
    return get_visible(list_presets(for_user=for_user), f"there is no preset {slug}", slug=slug)


def _is_usable(preset: Preset, by: Person) -> bool:
    """Return whether a person may open a review where the preset leads."""
    if preset.cluster is None:
        return access.can(by, Action.WRITE)
    if preset.cluster.archived_at is not None:
        return False
    return access.can(by, Action.WRITE, [ScopeEntry(preset.cluster.slug, preset.options.get("namespace", ""))])


def can_see(preset: Preset, *, for_user: Person) -> bool:
    """Return whether a person may know the options of a preset: they administer, or they may use it."""
    if access.can(for_user, Action.VIEW_ACCOUNTS):
        return True
    return access.can(for_user, Action.WRITE) and preset in _list_offered(for_user)


def list_usable(*, for_user: Person) -> tuple[Preset, ...]:
    """Return the presets that a person may use: those of everybody and of their teams, where they may open reviews."""
    access.require(for_user, Action.WRITE)
    return _list_offered(for_user)


def _list_offered(for_user: Person) -> tuple[Preset, ...]:
    is_mine = Q(team=None) | Q(team__slug__in=humans.list_teams([for_user])[for_user.pk])
    found = Preset.objects.filter(is_mine, archived_at=None).select_related("cluster", "team")
    return tuple(one for one in found if _is_usable(one, for_user))


def get_usable(slug: str, *, for_user: Person) -> Preset:
    """Return one preset that a person may use; raises `NotVisibleError`."""
    found = next((one for one in list_usable(for_user=for_user) if one.slug == slug), None)
    if found is None:
        raise NotVisibleError(_("there is no preset %(slug)s that you may use") % {"slug": slug})
    return found


def brings_manifests(preset: Preset) -> bool:
    """Return whether a preset names where all manifests come from, so that no file is needed."""
    options = preset.options
    remote = options.get("chart_repository") or str(options.get("chart", "")).startswith(("oci://", "https://"))
    return bool(options.get("links") or options.get("git_repository") or remote)


def _hide_queries(text: str) -> str:
    """Return a text of a field without the queries of its addresses, which may hold a credential."""
    return "\n".join(hide_query(line) if "://" in line else line for line in text.splitlines())


def find_changes(preset: Preset, used: Mapping[str, str]) -> tuple[JSONObject, ...]:
    """Return the fields whose text differs from that of a preset, each with both; others of `used` do not count.

    - Every reader of a review is shown them: addresses have no query.
    """
    before = {name: text for name, text in preset.options.items() if name in FIELDS}
    if preset.cluster is not None:
        before = {CLUSTER: preset.cluster.slug, **before}
    return tuple(
        {"field": name, "preset": _hide_queries(before[name]), "used": _hide_queries(used[name])}
        for name in (CLUSTER, *FIELDS)
        if name in before and name in used and before[name] != used[name]
    )


def _describe(preset: Preset) -> dict[str, str]:
    """Return every part of a preset as text, for its audit entries."""
    return {
        "name": preset.name,
        "description": preset.description,
        "title": preset.title,
        "team": preset.team.slug if preset.team else "",
        CLUSTER: preset.cluster.slug if preset.cluster else "",
        **{name: preset.options.get(name, "") for name in FIELDS},
    }


def _list_parts(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, JSONObject]]:
    for name, text in after.items():
        if before.get(name, "") != text:
            yield name, {"before": _hide_queries(before.get(name, "")), "after": _hide_queries(text)}


def _record(preset: Preset, what: str, before: Mapping[str, str], by: Person | None) -> None:
    detail: JSONObject = {
        "what": what,
        "preset": preset.slug,
        "version": preset.version,
        "changes": dict(_list_parts(before, _describe(preset))),
    }
    trail.record(AuditAction.PRESET_CHANGED, by=by, about=trail.AuditSubject(), detail=detail)


def _read_values(draft: PresetDraft, by: Person | None) -> dict[str, object]:
    return {
        "name": draft.name.strip(),
        "description": draft.description.strip(),
        "title": draft.title.strip(),
        "team": draft.team,
        "cluster": draft.cluster,
        "options": {name: draft.options[name] for name in FIELDS if name in draft.options},
        "changed_at": clock.now(),
        "changed_by": by,
    }


def add_preset(draft: PresetDraft, *, by: Person | None) -> Preset:
    """Save a preset; raises `FieldRefusedError` for a slug that is taken. `by`: None is the operator of the server."""
    _require_manager(by)
    preset = Preset(slug=draft.slug, **_read_values(draft, by))
    try:
        with transaction.atomic():
            preset.save(force_insert=True)
            _record(preset, "added", {}, by)
    except IntegrityError:
        raise FieldRefusedError("slug", _("There is already a preset with this slug.")) from None
    return preset


def edit_preset(preset: Preset, draft: PresetDraft, *, version: int, by: Person | None) -> None:
    """Change everything of a preset but its slug; raises `NotPossibleError` if it is no longer at `version`."""
    _require_manager(by)
    before, values = _describe(preset), _read_values(draft, by)
    with transaction.atomic():
        rows = Preset.objects.filter(pk=preset.pk, archived_at=None, version=version)
        if not rows.update(**values, version=F("version") + 1):
            raise NotPossibleError(_("this preset was changed or archived in the meantime; open it again"))
        preset.refresh_from_db()
        _record(preset, "changed", before, by)


def archive_preset(preset: Preset, *, by: Person | None) -> None:
    """Archive a preset: it is no longer offered, and its reviews still name it."""
    _require_manager(by)
    with transaction.atomic():
        if not Preset.objects.filter(pk=preset.pk, archived_at=None).update(archived_at=clock.now()):
            raise NotPossibleError(_("this preset was archived already"))
        _record(preset, "archived", _describe(preset), by)
