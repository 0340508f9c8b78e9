"""Read models of presets: the list, the card on the form of a review, and what a review changed from its preset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from urllib.parse import urlencode, urlsplit

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from msgspec import Struct

from applyviz.engine.requests.options import PRODUCT_MANAGER, ApplyMode, PruneMode
from applyviz.records.enums import Applier
from applyviz.records.models import Preset, Review
from applyviz.web.reviews.pages.plan_names import ACTION_WORDS
from applyviz.web.reviews.pages.sources import option_words
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans import presets

LABELS: dict[str, str | Promise] = {
    "cluster": gettext_lazy("Cluster"),
    "links": gettext_lazy("Links"),
    "git_repository": gettext_lazy("Repository"),
    "git_ref": gettext_lazy("Branch, tag or commit"),
    "git_path": gettext_lazy("Path"),
    "follow": gettext_lazy("Follow the branch"),
    "kustomization": gettext_lazy("Kustomization"),
    "chart": gettext_lazy("Chart"),
    "chart_repository": gettext_lazy("Chart repository"),
    "chart_version": gettext_lazy("Chart version"),
    "chart_release": gettext_lazy("Release name"),
    "chart_values_files": gettext_lazy("Values files"),
    "chart_hooks": gettext_lazy("Helm hooks"),
    "namespace": option_words.LABELS["namespace"],
    "applied_by": gettext_lazy("Applied by"),
    "operation": option_words.LABELS["action"],
    "mode": option_words.LABELS["mode"],
    "field_manager": option_words.LABELS["field_manager"],
    "takes_client_side": gettext_lazy("Field ownership"),
    "takes_from": option_words.LABELS["takes_from"],
    "clear_patch": option_words.LABELS["clear_patch"],
    "patch_objects": gettext_lazy("Objects to patch"),
    "patch_type": gettext_lazy("Type of the patch"),
    "patch_subresource": option_words.LABELS["subresource"],
    "prune": option_words.LABELS["prune.mode"],
    "selector": option_words.LABELS["selector"],
    "prune_all": option_words.LABELS["prune.is_all"],
    "prune_allowlist": option_words.LABELS["prune.allowlist"],
    "applyset": option_words.LABELS["prune.applyset"],
    "prune_except": option_words.LABELS["prune.excepted"],
    "replace": gettext_lazy("Replace"),
    "propagation": option_words.LABELS["propagation"],
    "deletion_seconds": option_words.LABELS["deletion_seconds"],
}


class PresetCard(Struct, frozen=True):
    """A preset as authors see it: where its manifests come from (`brings`, "" for files) and what it chooses.

    - `needs_cluster`: the author chooses the cluster.
    """

    slug: str
    name: str
    description: str
    brings: str
    choices: tuple[str, ...]
    needs_cluster: bool


class PresetRow(Struct, frozen=True):
    """One preset of the list."""

    card: PresetCard
    team: str
    version: int
    by: str
    at: datetime
    used: str
    url: str
    use_url: str


class PresetChange(Struct, frozen=True):
    """One option that a review changed from its preset; `before` is "" where this person may not see the preset."""

    label: str
    before: str
    after: str


def _name_link(link: str) -> str:
    parts = urlsplit(link)
    return f"{parts.hostname or ''}{parts.path}"


def _describe_source(options: Mapping[str, str]) -> Iterator[str]:
    if options.get("git_repository"):
        fact = {"name": _name_link(options["git_repository"]), "ref": options.get("git_ref") or _("default branch")}
        text = _("git repository %(name)s (%(ref)s)") % fact
        yield " ".join(filter(None, (text, options.get("kustomization") or options.get("git_path"))))
    links = options.get("links", "").splitlines()
    if links:
        hosts = ", ".join(dict.fromkeys(urlsplit(link).hostname or link for link in links))
        count = ngettext("%(count)d link to %(hosts)s", "%(count)d links to %(hosts)s", len(links))
        yield count % {"count": len(links), "hosts": hosts}
    if options.get("chart"):
        yield _("Helm chart %(name)s") % {
            "name": " ".join((options["chart"], options.get("chart_version", ""))).strip()
        }


def _describe_prune(options: Mapping[str, str]) -> str:
    match options.get("prune"):
        case PruneMode.ALLOWLIST:
            selector = options.get("selector") or _("all objects")
            return _("prunes by allowlist (%(selector)s)") % {"selector": selector}
        case PruneMode.APPLYSET:
            return _("prunes by ApplySet %(parent)s") % {"parent": options.get("applyset", "")}
    return ""


def _describe_method(options: Mapping[str, str]) -> str:
    action = options.get("operation", "")
    if action in ACTION_WORDS:
        return str(ACTION_WORDS[action])
    return _("client-side apply") if options.get("mode") == ApplyMode.CLIENT else _("server-side apply")


def _list_choices(preset: Preset) -> Iterator[str]:
    options = preset.options
    where = {"namespace": options.get("namespace", ""), "cluster": preset.cluster.name if preset.cluster else ""}
    text = _("namespace %(namespace)s of %(cluster)s") if preset.cluster else _("namespace %(namespace)s")
    yield text % where
    if options.get("applied_by"):
        yield _("applied by %(tool)s") % {"tool": Applier(options["applied_by"]).label}
    yield _describe_method(options)
    if options.get("field_manager", PRODUCT_MANAGER) != PRODUCT_MANAGER:
        yield _("as %(manager)s") % {"manager": options["field_manager"]}
    if options.get("follow"):
        yield _("follows the branch")
    if options.get("replace"):
        yield _("replaces %(kinds)s") % {"kinds": ", ".join(options["replace"].split())}
    yield from filter(None, (_describe_prune(options),))


def present_card(preset: Preset) -> PresetCard:
    """Return what a preset brings and chooses."""
    brings = ", ".join(_describe_source(preset.options)) if presets.brings_manifests(preset) else ""
    return PresetCard(
        preset.slug, preset.name, preset.description, brings, tuple(_list_choices(preset)), not preset.cluster
    )


def present_cards(found: Iterable[Preset]) -> tuple[PresetCard, ...]:
    """Return the presets that the form of a review offers."""
    return tuple(map(present_card, found))


def find_card(found: Iterable[Preset], slug: str) -> PresetCard | None:
    """Return the card of one of these presets, None without it."""
    return next((present_card(one) for one in found if one.slug == slug), None)


def name_use(slug: str) -> str:
    """Return the address of the form of a review that a preset fills."""
    return f"{reverse('reviews:add-review')}?{urlencode({'preset': slug})}"


def present_row(preset: Preset, reviews: int) -> PresetRow:
    """Return one preset of the list, which filled the forms of some reviews."""
    return PresetRow(
        card=present_card(preset),
        team=preset.team.name if preset.team else _("every author"),
        version=preset.version,
        by=preset.changed_by.get_username() if preset.changed_by else _("the operator of the server"),
        at=preset.changed_at,
        used=ngettext("%(count)d review", "%(count)d reviews", reviews) % {"count": reviews},
        url=reverse("settings:show-preset", args=[preset.slug]),
        use_url=name_use(preset.slug),
    )


def name_preset(review: Review) -> str:
    """Return the name and version of the preset that filled the form of a review; "" without one."""
    if review.preset is None:
        return ""
    return _("%(name)s, version %(number)d") % {"name": review.preset.name, "number": review.preset_version}


def list_changed(review: Review, *, for_user: Person) -> tuple[PresetChange, ...]:
    """Return the options that the author of a review changed from its preset.

    - The preset may name clusters, namespaces and repositories that other readers of the review must not learn of.
    """
    may_see = review.preset is not None and presets.can_see(review.preset, for_user=for_user)
    return tuple(
        PresetChange(
            label=str(LABELS.get(change["field"], change["field"])),
            before=(change["preset"] or _("none")) if may_see else "",
            after=change["used"] or _("none"),
        )
        for change in review.preset_changes
    )
