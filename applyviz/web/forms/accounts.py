"""Signing in, and giving the password once more."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy as _

from applyviz.web.proof import find_address
from applyviz.workflow import signing


class SignInForm(AuthenticationForm):
    """Name and password; who failed too often is not even looked at for a while."""

    def clean(self) -> dict[str, Any]:
        """Count failures; say the same whether the name exists or not."""
        given: HttpRequest = self.request  # type: ignore[assignment]  # the view always passes it
        name, address = str(self.cleaned_data.get("username") or ""), find_address(given)
        if signing.find_refusal(name, address) is not None:
            raise forms.ValidationError(
                _("Too many failed attempts. Wait a quarter of an hour, then try again."), code="limited"
            )
        try:
            return dict(super().clean())
        except forms.ValidationError:
            signing.record_failure(name, address)
            raise


class ProofForm(forms.Form):
    """The password of who is signed in, and the page to go back to."""

    password = forms.CharField(label=_("Your password"), max_length=400, strip=False, widget=forms.PasswordInput)
    next = forms.CharField(required=False, max_length=2000, widget=forms.HiddenInput)

    def read_back(self, host: str, default: str) -> str:
        """Where to go afterwards; only pages of this installation."""
        given = str(self.data.get("next") or self.initial.get("next") or "")
        return given if url_has_allowed_host_and_scheme(given, allowed_hosts={host}) else default
