"""The form of an identity mapping: the Kubernetes identity of a person, a team or the default."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from applyviz.records.models import Cluster
from applyviz.web.components.forms import Choice, offer_choices, offer_clusters
from applyviz.workflow.clusters.impersonation import MappingDraft
from applyviz.workflow.clusters.registration import list_usable
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.people.teams import list_people, list_teams

EVERYBODY, PERSON, TEAM = "everybody", "person:", "team:"


class MappingForm(forms.Form):
    """One mapping."""

    cluster = forms.ModelChoiceField(Cluster.objects.none(), label=_("Cluster"), to_field_name="slug", empty_label=None)
    subject = forms.ChoiceField(label=_("Who"))
    user = forms.CharField(
        label=_("User"),
        max_length=253,
        help_text=_("Kubernetes user name. For teams and the default, {name} is replaced with the account name."),
    )
    groups = forms.CharField(
        label=_("Groups"),
        required=False,
        max_length=9000,
        help_text=_("One per line. Names that begin with system: are not allowed."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    note = forms.CharField(label=_("Why"), required=False, max_length=2000, widget=forms.Textarea(attrs={"rows": 2}))

    def __init__(
        self, data: QueryDict | None, *, for_user: Visitor, initial: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
        self._teams = {team.slug: team for team in list_teams(for_user=for_user)}
        self._people: dict[str, Person] = {p.get_username(): p for p in list_people(for_user=for_user) if p.is_active}
        offer_clusters(self, list_usable(for_user=for_user, action=Action.MANAGE))
        subjects: list[Choice] = [
            (EVERYBODY, _("default (everyone else)")),
            (_("Teams"), [(TEAM + slug, team.name) for slug, team in self._teams.items()]),
            (_("People"), [(PERSON + name, name) for name in self._people]),
        ]
        offer_choices(self, "subject", subjects)

    @property
    def draft(self) -> MappingDraft:
        """Return the mapping."""
        chosen = self.cleaned_data
        subject = chosen["subject"]
        return MappingDraft(
            user=chosen["user"],
            groups=tuple(line.strip() for line in chosen["groups"].splitlines() if line.strip()),
            person=self._people.get(subject.removeprefix(PERSON)) if subject.startswith(PERSON) else None,
            team=self._teams.get(subject.removeprefix(TEAM)) if subject.startswith(TEAM) else None,
            note=chosen["note"],
        )
