"""A person's own commit identities: claim, verify by the mailed link, remove."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz.records.git_enums import IdentityKind
from applyviz.web.components.commit_identities import IdentityForm, present_identities
from applyviz.web.components.forms import show_refusal
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.people import commit_identities


@requires(Action.USE_ACCOUNT, "GET", "POST")
def claim_identity(request: PageRequest) -> HttpResponse:
    """List the person's identities and claim another one; the answer never names another owner."""
    form = IdentityForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        kind = IdentityKind(form.cleaned_data["kind"])
        with show_refusal(form, "value"):
            commit_identities.claim(kind, form.cleaned_data["value"], by=request.user)
            messages.success(request, _describe_next(kind))
            return redirect("claim-identity")
    own = commit_identities.list_own(request.user).select_related("person")
    context = {"form": form, "rows": present_identities(own), "can_mail": commit_identities.can_mail()}
    return render(request, "accounts/identities.html", context, status=422 if form.errors else 200)


def _describe_next(kind: IdentityKind) -> str:
    if kind is IdentityKind.EMAIL and commit_identities.can_mail():
        return _("Claimed. Open the link in the email that was sent to this address, or ask an administrator.")
    return _("Claimed. An administrator verifies it.")


@requires(Action.USE_ACCOUNT, "POST")
def remove_identity(request: PageRequest, number: int) -> HttpResponse:
    """Remove an identity or a claim of the person."""
    commit_identities.end(commit_identities.get_own(number, by=request.user), by=request.user)
    messages.warning(request, _("Removed. You stay an editor of commits that it named."))
    return redirect("claim-identity")


@requires(Action.USE_ACCOUNT, "GET", "POST")
def verify_identity(request: PageRequest, token: str) -> HttpResponse:
    """Verify an address by its mailed link; only for the person who claimed it."""
    found = commit_identities.find_mailed(token, by=request.user)
    if request.method == "POST":
        commit_identities.verify_by_mail(token, by=request.user)
        messages.success(request, _("Address verified."))
        return redirect("claim-identity")
    return render(request, "accounts/verify_identity.html", {"value": found.value})
