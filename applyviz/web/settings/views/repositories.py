"""Repository credentials: add, test, rotate and remove them; for administrators."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from applyviz.engine.objects.errors import SourceError
from applyviz.records.models import RepositoryCredential
from applyviz.web.components.forms import refuse_field
from applyviz.web.frame.view_guard import PageRequest, requires
from applyviz.web.settings.forms.repositories import (
    NewRepositoryCredentialForm,
    RepositoryCredentialForm,
    TryCredentialForm,
)
from applyviz.web.settings.pages.push_webhooks import present_webhook
from applyviz.web.settings.pages.repositories import present_credential
from applyviz.web.settings.views.settings_page import render_settings
from applyviz.workflow import worker_requests
from applyviz.workflow.following import push_webhooks
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import FieldRefusedError
from applyviz.workflow.plans import repository_credentials


@requires(Action.MANAGE)
def list_repositories(request: PageRequest) -> HttpResponse:
    """List the credentials in force."""
    rows = [present_credential(row) for row in repository_credentials.list_credentials(for_user=request.user)]
    pushes = [present_webhook(row) for row in push_webhooks.list_webhooks(for_user=request.user)]
    return render_settings(request, "repositories", {"rows": rows, "pushes": pushes})


@requires(Action.MANAGE, "GET", "POST")
def add_repository(request: PageRequest) -> HttpResponse:
    """Register a credential."""
    form = NewRepositoryCredentialForm(request.POST or None, for_user=request.user)
    if request.method == "POST" and form.is_valid():
        try:
            made = repository_credentials.add_credential(form.draft, by=request.user)
        except FieldRefusedError as error:
            refuse_field(form, error)
        else:
            messages.success(request, _("Credential added. Test it with a repository."))
            return redirect("settings:show-repository", made.pk)
    return render_settings(request, "add_repository", {"form": form}, status=422 if form.errors else 200)


@requires(Action.MANAGE, "GET", "POST")
def show_repository(request: PageRequest, number: int) -> HttpResponse:
    """Show one credential without its secret; a POST changes it."""
    credential = repository_credentials.get_credential(number, for_user=request.user)
    form = RepositoryCredentialForm(request.POST or None, for_user=request.user, initial=_read_initial(credential))
    if request.method == "POST" and form.is_valid():
        renews = "renew" in request.POST
        try:
            repository_credentials.edit_credential(credential, form.draft, renews=renews, by=request.user)
        except FieldRefusedError as error:
            refuse_field(form, error)
        else:
            messages.success(request, _("Credential saved. Test it again."))
            return redirect("settings:show-repository", number)
    context = {"row": present_credential(credential), "form": form, "try_form": TryCredentialForm()}
    return render_settings(request, "repository", context, status=422 if form.errors else 200)


def _read_initial(credential: RepositoryCredential) -> dict[str, str]:
    return {
        "team": credential.team.slug if credential.team else "*",
        "username": credential.username,
        "host_keys": "\n".join(credential.host_keys),
    }


@requires(Action.MANAGE, "POST")
def try_repository(request: PageRequest, number: int) -> HttpResponse:
    """Sign in at a repository with a credential."""
    credential = repository_credentials.get_credential(number, for_user=request.user)
    form = TryCredentialForm(request.POST)
    address = form.cleaned_data["repository"].strip() if form.is_valid() else ""
    try:
        messages.success(request, worker_requests.check_repository(credential, address, by=request.user))
    except SourceError as error:
        messages.error(request, str(error))
    return redirect("settings:show-repository", number)


@requires(Action.MANAGE, "POST")
def remove_repository(request: PageRequest, number: int) -> HttpResponse:
    """Remove a credential."""
    repository_credentials.remove_credential(
        repository_credentials.get_credential(number, for_user=request.user), by=request.user
    )
    messages.warning(request, _("Credential removed, and its secret deleted."))
    return redirect("settings:list-repositories")
