"""Forms for signing in, reauthentication and new passwords."""

from __future__ import annotations

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _

from applyviz.web.components.forms import Cleaned, FieldLabel
from applyviz.web.frame.reauthentication import find_address
from applyviz.workflow.people import sign_in


class SignInForm(AuthenticationForm):
    """Name and password; an attempt too soon after a failure is not checked."""

    retry_after = 0

    def clean(self) -> Cleaned:
        """Count failures; show the same message whether the name exists or not."""
        given = self.request
        if given is None:
            raise TypeError("a sign-in is checked for a request")
        name, address = str(self.cleaned_data.get("username") or ""), find_address(given)
        until = sign_in.begin_attempt(name, address)
        if until is not None:
            self.retry_after = sign_in.count_seconds(until)
            raise forms.ValidationError(
                _("Too many wrong passwords. Wait %(count)d s, then try again."),
                code="limited",
                params={"count": self.retry_after},
            )
        try:
            return dict(super().clean())
        except forms.ValidationError:
            sign_in.record_failure(name, address)
            raise


class DemoSignInForm(forms.Form):
    """The name of a demo account."""

    name = forms.CharField(max_length=150)


class ProofForm(forms.Form):
    """The password of the signed-in person, and the page to return to."""

    password = forms.CharField(label=_("Your password"), max_length=400, strip=False, widget=forms.PasswordInput)
    next = forms.CharField(required=False, max_length=2000, widget=forms.HiddenInput)

    def read_back(self, host: str, default: str) -> str:
        """Return the page to return to; only pages of this installation."""
        given = str(self.data.get("next") or self.initial.get("next") or "")
        return given if url_has_allowed_host_and_scheme(given, allowed_hosts={host}) else default


def _password(label: FieldLabel, complete: str) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": complete})
    return forms.CharField(label=label, max_length=400, strip=False, widget=widget)


class NewPasswordForm(forms.Form):
    """A new password, entered twice."""

    new = _password(_("New password"), "new-password")
    again = _password(_("Repeat new password"), "new-password")

    def clean(self) -> Cleaned:
        """Check that both entries are equal."""
        given = self.cleaned_data
        if "new" in given and "again" in given and given["new"] != given["again"]:
            self.add_error("again", _("The passwords do not match."))
        return given


class PasswordForm(NewPasswordForm):
    """The current password and a new one."""

    password = _password(_("Current password"), "current-password")
    field_order = ("password", "new", "again")
