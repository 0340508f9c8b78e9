"""Administration of a cluster: replace its credential, test, rename, pause, archive; one form each."""

from __future__ import annotations

from django.contrib import messages
from django.forms import Form
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.records.models import Cluster
from applyviz.web.clusters.forms import CredentialForm, PauseForm, RenameForm
from applyviz.web.clusters.pages.manage import present_management
from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires, visible_worker_request
from applyviz.workflow import worker_requests
from applyviz.workflow.clusters import lifecycle
from applyviz.workflow.clusters import registration as use_cases
from applyviz.workflow.foundation.access import Action


def _find(request: PageRequest, slug: str) -> Cluster:
    return use_cases.get_cluster(slug, for_user=request.user)


def _render(request: PageRequest, cluster: Cluster, *, status: int = 200, **forms: Form) -> HttpResponse:
    given = {"credential": CredentialForm(), "rename": RenameForm(initial={"name": cluster.name}), "pause": PauseForm()}
    context = {"page": present_management(cluster), **given, **forms}
    return render(request, "clusters/manage.html", context, status=status)


def _done(request: PageRequest, slug: str, message: str) -> HttpResponse:
    messages.success(request, message)
    return redirect("clusters:manage-cluster", slug)


@requires(Action.MANAGE)
def show_management(request: PageRequest, slug: str) -> HttpResponse:
    """Show all administrative actions on a cluster."""
    return _render(request, _find(request, slug))


@requires(Action.MANAGE, "POST")
def replace_credential(request: PageRequest, slug: str) -> HttpResponse:
    """Replace the credential by another kubeconfig of the same cluster."""
    cluster = _find(request, slug)
    form = CredentialForm(request.POST, request.FILES)
    if form.is_valid():
        values = {**form.cleaned_data, "kubeconfig": form.cleaned_data["kubeconfig"].read()}
        try:
            worker_requests.replace_credential(cluster, by=request.user, **values)
        except worker_requests.UnfinishedError:
            raise
        except ApplyVizError as error:
            add_refusal(form, error)
        else:
            return _done(request, slug, _("The credential of %(name)s was replaced.") % {"name": cluster.name})
    return _render(request, cluster, status=422, credential=form)


def add_refusal(form: CredentialForm, error: ApplyVizError) -> None:
    """Add every reason to a form; a server's original text is kept separate, to be folded."""
    form.server_message = getattr(error, "detail", "")
    for reason in getattr(error, "reasons", None) or (str(error),):
        form.add_error(None, reason)


@requires(Action.MANAGE)
def check_connection(request: PageRequest, slug: str) -> HttpResponse:
    """Ask the cluster for its identity and for the account of the credential."""
    cluster = _find(request, slug)
    found = worker_requests.check_connection(cluster, by=request.user, after=visible_worker_request(request))
    name = "clusters/_connection.html" if is_fragment(request) else "clusters/connection.html"
    return render(request, name, {"found": found, "cluster": cluster})


@requires(Action.MANAGE, "POST")
def rename(request: PageRequest, slug: str) -> HttpResponse:
    """Change the display name of the cluster."""
    cluster, form = _find(request, slug), RenameForm(request.POST)
    if not form.is_valid():
        return _render(request, cluster, status=422, rename=form)
    name = form.cleaned_data["name"]
    lifecycle.rename_cluster(cluster, name=name, by=request.user)
    return _done(request, slug, _("Cluster renamed to %(name)s.") % {"name": name})


@requires(Action.MANAGE, "POST")
def pause(request: PageRequest, slug: str) -> HttpResponse:
    """Start nothing on the cluster until it is resumed."""
    cluster, form = _find(request, slug), PauseForm(request.POST)
    if not form.is_valid():
        return _render(request, cluster, status=422, pause=form)
    lifecycle.pause_cluster(cluster, reason=form.cleaned_data["reason"], by=request.user)
    return _done(request, slug, _("%(name)s is paused: no plan or run can start.") % {"name": cluster.name})


@requires(Action.MANAGE, "POST")
def resume(request: PageRequest, slug: str) -> HttpResponse:
    """Let plans and runs start again."""
    cluster = _find(request, slug)
    lifecycle.resume_cluster(cluster, by=request.user)
    return _done(request, slug, _("%(name)s is resumed.") % {"name": cluster.name})


@requires(Action.MANAGE, "POST")
def archive(request: PageRequest, slug: str) -> HttpResponse:
    """Remove the cluster from every form; its history stays."""
    cluster = _find(request, slug)
    lifecycle.archive_cluster(cluster, by=request.user)
    return _done(request, slug, _("%(name)s is archived. Its history is kept.") % {"name": cluster.name})


@requires(Action.MANAGE, "POST")
def restore(request: PageRequest, slug: str) -> HttpResponse:
    """Restore an archived cluster."""
    cluster = _find(request, slug)
    lifecycle.restore_cluster(cluster, by=request.user)
    return _done(request, slug, _("%(name)s is restored.") % {"name": cluster.name})
