"""Forms of accounts, teams and grants."""

from __future__ import annotations

from collections.abc import Collection

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from applyviz.records.enums import Role
from applyviz.web.components.forms import offer_choices
from applyviz.workflow.foundation.access import Visitor
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people.teams import list_people


class PersonForm(forms.Form):
    """A new account."""

    name = forms.RegexField(
        r"^[\w.@+-]+$",
        max_length=150,
        label=_("Name"),
        help_text=_("Use letters, digits and @ . + - _, without spaces."),
        error_messages={"invalid": _("This name contains a space or another character that is not allowed.")},
    )
    email = forms.EmailField(label=_("Email address"), required=False)


class MailForm(forms.Form):
    """The email address of an account; empty for none."""

    email = forms.EmailField(label=_("Email address"), required=False)


class TeamForm(forms.Form):
    """A new team."""

    slug = forms.SlugField(label=_("Slug"), max_length=63)
    name = forms.CharField(label=_("Name"), max_length=120)


class GrantForm(forms.Form):
    """A role for the person or team of the page."""

    role = forms.ChoiceField(label=_("Role"), choices=Role.choices)
    cluster_pattern = forms.CharField(label=_("Clusters"), max_length=63, initial="*")
    namespace_pattern = forms.CharField(label=_("Namespaces"), max_length=63, initial="*")
    is_cluster_scoped = forms.BooleanField(label=_("Include cluster-scoped objects"), required=False, initial=True)

    @property
    def scope(self) -> Scope:
        """Return its scope."""
        chosen = self.cleaned_data
        return Scope(chosen["cluster_pattern"], chosen["namespace_pattern"], chosen["is_cluster_scoped"])


class MemberForm(forms.Form):
    """An account, by name; `without` are those that are no choice."""

    person = forms.ChoiceField(label=_("Person"))

    def __init__(self, data: QueryDict | None = None, *, for_user: Visitor, without: Collection[str] = ()) -> None:
        super().__init__(data)
        names = list_people(for_user=for_user).filter(is_active=True).values_list("username", flat=True)
        offer_choices(self, "person", [(name, name) for name in names if name not in without])
