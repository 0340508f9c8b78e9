"""Forms of repository credentials and of push webhooks; a secret can only be written."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from applyviz.records.git_enums import ForgeKind
from applyviz.records.models import Team
from applyviz.web.components.forms import offer_choices
from applyviz.workflow.foundation.access import Visitor
from applyviz.workflow.people.teams import list_teams
from applyviz.workflow.plans.repository_credentials import Draft

_EVERYBODY = "*"
_CODE = {"spellcheck": "false", "autocomplete": "off", "class": "code"}


class SecretTextarea(forms.Textarea):
    """A text area that never shows what was entered before."""

    def get_context(self, name: str, value: object, attrs: Mapping[str, object] | None) -> dict[str, object]:
        """Return the context of an empty area."""
        del value
        return super().get_context(name, None, dict(attrs or {}))


class RepositoryCredentialForm(forms.Form):
    """Who may use a credential, its host keys, and a new secret."""

    team = forms.ChoiceField(label=_("Available to"), help_text=_("For reviews that they create."))
    username = forms.CharField(
        label=_("User name"),
        required=False,
        max_length=120,
        widget=forms.TextInput(_CODE),
        help_text=_("Only for tokens, as the git host asks for it. GitHub and GitLab accept any."),
    )
    secret = forms.CharField(
        label=_("Token or private key"),
        required=False,
        strip=False,
        max_length=20_000,
        widget=SecretTextarea({"rows": 3, **_CODE}),
        help_text=_("Leave empty to keep the current one. Stored encrypted, never shown again."),
    )
    host_keys = forms.CharField(
        label=_("Host keys"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea({"rows": 3, **_CODE}),
        help_text=_(
            "Only for ssh: one per line, as ssh-keyscan prints them. Compare them with those that the git host "
            "publishes. No other key is accepted."
        ),
    )

    def __init__(
        self, data: QueryDict | None, *, for_user: Visitor, initial: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(data, initial=dict(initial or {}))
        self._teams: dict[str, Team] = {team.slug: team for team in list_teams(for_user=for_user)}
        names = [(slug, team.name) for slug, team in self._teams.items() if team.archived_at is None]
        offer_choices(self, "team", [(_EVERYBODY, _("Every author")), *names])

    def clean_username(self) -> str:
        """Refuse what would end the user name in the header of a request."""
        name = str(self.cleaned_data["username"])
        if ":" in name or not name.isprintable():
            raise forms.ValidationError(_("A user name has no colon and no control characters."))
        return name

    @property
    def draft(self) -> Draft:
        """Return the credential of a valid form."""
        chosen = self.cleaned_data
        return Draft(
            address=chosen.get("address", ""),
            secret=chosen["secret"],
            username=chosen["username"],
            host_keys=chosen["host_keys"],
            team=self._teams.get(chosen["team"]),
        )


class NewRepositoryCredentialForm(RepositoryCredentialForm):
    """A new credential."""

    address = forms.CharField(
        label=_("Address"),
        max_length=1000,
        widget=forms.TextInput(_CODE),
        help_text=_(
            "A repository, or a folder of them: https://github.com/owner or ssh://git@github.com/owner/repository. "
            "The credential is used there and below, and nowhere else."
        ),
    )
    secret = forms.CharField(
        label=_("Token or private key"),
        required=False,
        strip=False,
        max_length=20_000,
        widget=SecretTextarea({"rows": 3, **_CODE}),
        help_text=_(
            "Stored encrypted and never shown again. For ssh, leave it empty: a key is made, and you register its "
            "public half as a read-only deploy key."
        ),
    )
    field_order = ["address", "team", "username", "secret", "host_keys"]


class TryCredentialForm(forms.Form):
    """The repository to test a credential with."""

    repository = forms.CharField(label=_("Repository"), required=False, max_length=1000, widget=forms.TextInput(_CODE))


class PushWebhookForm(forms.Form):
    """A new push webhook."""

    repository = forms.CharField(
        label=_("Repository"),
        max_length=1000,
        widget=forms.TextInput({"spellcheck": "false", "autocomplete": "off", "class": "code"}),
        help_text=_("The address as reviews fetch it, such as https://github.com/owner/repository."),
    )
    forge = forms.ChoiceField(label=_("Git host"), choices=ForgeKind.choices)
