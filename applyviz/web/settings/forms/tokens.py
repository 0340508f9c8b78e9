"""Forms of tokens and service accounts."""

from __future__ import annotations

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from applyviz.records.enums import TokenScope
from applyviz.web.components.forms import offer_choices
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.people.tokens import LASTS, list_service_accounts


class TokenForm(forms.Form):
    """A new token."""

    name = forms.CharField(
        label=_("Name"), max_length=120, help_text=_("Name of the pipeline, agent or script that uses it.")
    )
    account = forms.ChoiceField(label=_("Acts as"))
    scope = forms.ChoiceField(label=_("Scope"), choices=TokenScope.choices, initial=TokenScope.PLAN)
    days = forms.TypedChoiceField(
        label=_("Expires after"),
        coerce=int,
        choices=[(days, ngettext_lazy("%d day", "%d days", days) % days) for days in LASTS],
        initial=90,
    )

    def __init__(self, data: QueryDict | None, *, for_user: Person) -> None:
        super().__init__(data)
        self._accounts = {for_user.get_username(): for_user}
        for service in list_service_accounts(for_user=for_user).filter(owner=for_user):
            self._accounts[service.person.get_username()] = service.person
        names = [
            (name, _("%(name)s (yourself)") % {"name": name}) if n == 0 else (name, name)
            for n, name in enumerate(self._accounts)
        ]
        offer_choices(self, "account", names)

    @property
    def acting(self) -> Person:
        """Return the account that it acts as."""
        return self._accounts[self.cleaned_data["account"]]


class ServiceAccountForm(forms.Form):
    """A new service account."""

    name = forms.RegexField(
        r"^[a-z0-9][a-z0-9.-]{0,62}$",
        label=_("Name"),
        help_text=_("Use lowercase letters, digits, dots and dashes."),
        error_messages={"invalid": _("Use lowercase letters, digits, dots and dashes; begin with a letter or digit.")},
    )
    purpose = forms.CharField(label=_("Details"), required=False, max_length=200)
