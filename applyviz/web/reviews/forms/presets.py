"""The form of a preset: every option of a new review, with a name and who may use it.

A preset is stored as plain text that many people see, so it takes nothing that may hold a credential: no pasted
manifests, no values of a chart, no patch, and no link with a query.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from django import forms
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from applyviz.engine.requests.options import PruneMode, SetAction
from applyviz.records.models import Cluster, Preset, Team
from applyviz.web.components.forms import offer_choices, offer_clusters
from applyviz.web.reviews.forms.prune import list_strays
from applyviz.web.reviews.forms.reviews import OptionFields
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.plans import presets
from applyviz.workflow.plans.presets import CLUSTER, FIELDS, PresetDraft

EVERYBODY = "*"
_ANY_CLUSTER = _("Chosen in each review")
_WITHOUT = ("patch",)
HELP: dict[str, str | Promise] = {
    "name_help": _("Shown to authors, for example: Shop, production."),
    "slug_help": _("For addresses and for gate.py --preset; it stays."),
    "description_help": _("When to use it, in one sentence."),
    "title_help": _("Title of its reviews, which the author can change. Empty: the name of the preset."),
    "team_help": _("They also need the role author in the cluster and namespace of the preset."),
}


class PresetChoiceForm(forms.Form):
    """The preset in the address of the form of a review."""

    preset = forms.CharField(required=False, max_length=63)

    @classmethod
    def read_slug(cls, given: QueryDict) -> str:
        """Return the slug in an address, "" for none."""
        form = cls(given)
        return form.cleaned_data["preset"] if form.is_valid() else ""


class PresetForm(OptionFields):
    """One preset."""

    slug = forms.SlugField(label=_("Slug"), max_length=63)
    name = forms.CharField(label=_("Name"), max_length=120)
    description = forms.CharField(label=_("Description"), required=False, max_length=400)
    title = forms.CharField(label=_("Title"), required=False, max_length=200)
    team = forms.ChoiceField(label=_("Available to"), choices=[(EVERYBODY, _("Every author"))])
    cluster = forms.ModelChoiceField(
        Cluster.objects.none(), label=_("Cluster"), to_field_name="slug", required=False, empty_label=_ANY_CLUSTER
    )
    version = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)

    def __init__(
        self,
        data: Mapping[str, str] | None = None,
        *,
        for_user: Person | None,
        initial: dict[str, object] | None = None,
    ) -> None:
        """Offer every team and cluster; `for_user` is None for the operator of the server."""
        super().__init__(data, initial=initial)
        for name in _WITHOUT:
            del self.fields[name]
        self._teams: dict[str, Team] = {team.slug: team for team in presets.list_teams(for_user=for_user)}
        teams = [(slug, team.name) for slug, team in self._teams.items()]
        offer_choices(self, "team", [(EVERYBODY, _("Every author")), *teams])
        offer_clusters(self, presets.list_clusters(for_user=for_user))

    def clean_links(self) -> tuple[str, ...]:
        """Refuse a link with a query: it may be a credential, and a preset shows it to everybody who may use it."""
        links = super().clean_links()
        odd = [link for link in links if urlsplit(link).query]
        if odd:
            text = _("A preset takes no link with a query, which may hold a credential: %(link)s")
            raise forms.ValidationError([forms.ValidationError(text, params={"link": link}) for link in odd])
        return links

    def find_patch_errors(self, chosen: Mapping[str, object]) -> list[tuple[str, str]]:
        """Return an error for objects of another operation; the patch comes with each review."""
        return super().find_patch_errors({**chosen, "patch": chosen.get("patch_objects")})[:1]

    def clean(self) -> dict[str, object]:
        """Empty the fields that belong to another operation or another prune method."""
        found = super().clean()
        if found.get("operation") not in ("", None, SetAction.APPLY):
            found |= {"prune": PruneMode.NONE.value, "replace": (), "takes_from": ""}
        return {**found, **dict.fromkeys(list_strays(found), "")}

    @property
    def draft(self) -> PresetDraft:
        """Return the preset of a valid form."""
        chosen = self.cleaned_data
        texts = {**dict.fromkeys(FIELDS, ""), **self.texts}
        return PresetDraft(
            slug=chosen["slug"],
            name=chosen["name"],
            description=chosen["description"],
            title=chosen["title"],
            team=self._teams.get(chosen["team"]),
            cluster=chosen["cluster"],
            options={name: text for name, text in texts.items() if name != CLUSTER},
        )


def read_initial(preset: Preset) -> dict[str, object]:
    """Return what the form of a preset shows."""
    return {
        "slug": preset.slug,
        "name": preset.name,
        "description": preset.description,
        "title": preset.title,
        "team": preset.team.slug if preset.team else EVERYBODY,
        CLUSTER: preset.cluster.slug if preset.cluster else "",
        "version": preset.version,
        **preset.options,
    }


def fill_review(preset: Preset) -> dict[str, object]:
    """Return what a preset fills the form of a new review with."""
    cluster = {CLUSTER: preset.cluster.slug} if preset.cluster else {}
    return {"preset": preset.slug, "title": preset.title or preset.name, **cluster, **preset.options}


def take_options(given: Mapping[str, str]) -> dict[str, object]:
    """Return what the form of a new preset shows of the form of a review that was filled in."""
    return {name: given.get(name, "") for name in (CLUSTER, "title", *FIELDS)}
