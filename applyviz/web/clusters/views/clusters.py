"""Clusters: the list, a page with objects and field managers, adding a live one."""

from __future__ import annotations

from contextlib import suppress

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.records.enums import FindingSort
from applyviz.records.models import Cluster
from applyviz.web.clusters.forms import AddClusterForm, AdoptForm, MaskingForm
from applyviz.web.clusters.pages.clusters import can_add, present_cluster, present_clusters, present_state
from applyviz.web.clusters.pages.field_manager import present_holdings
from applyviz.web.clusters.pages.findings import present_findings
from applyviz.web.clusters.views.manage import add_refusal
from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires, visible_worker_request
from applyviz.web.history.pages.object_timeline import read_address
from applyviz.workflow import worker_requests
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.clusters import registration as use_cases
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError
from applyviz.workflow.live import scans


@requires(Action.VIEW)
def list_clusters(request: PageRequest) -> HttpResponse:
    """List all clusters."""
    rows = present_clusters(use_cases.list_clusters(for_user=request.user))
    return render(request, "clusters/list.html", {"rows": rows, "can_add": can_add(request.user)})


@requires(Action.VIEW)
def show_cluster(request: PageRequest, slug: str) -> HttpResponse:
    """Show one cluster with its objects."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    inventory = worker_requests.read_inventory(cluster, by=request.user, after=visible_worker_request(request))
    return render(
        request, "clusters/cluster.html", {"page": present_cluster(cluster, inventory, for_user=request.user)}
    )


@requires(Action.VIEW)
def show_state(request: PageRequest, slug: str) -> HttpResponse:
    """Show the status of the cluster and the permissions there."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    found = worker_requests.read_state(cluster, by=request.user, after=visible_worker_request(request))
    state = present_state(cluster, found, for_user=request.user)
    name = "clusters/_state.html" if is_fragment(request) else "clusters/state.html"
    return render(request, name, {"state": state, "cluster": cluster})


@requires(Action.MANAGE, "POST")
def set_masking(request: PageRequest, slug: str) -> HttpResponse:
    """Mask or show credentials in plain fields of a cluster's new plans."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    form = MaskingForm(request.POST)
    if form.is_valid() and masking_settings.mask_credentials(
        cluster, is_on=form.cleaned_data["is_on"], by=request.user
    ):
        masks = _("New plans mask credentials in plain fields.")
        shows = _("New plans show credentials in plain fields.")
        messages.success(request, masks if form.cleaned_data["is_on"] else shows)
    return redirect("clusters:show-cluster", slug)


@requires(Action.WRITE, "POST")
def scan(request: PageRequest, slug: str) -> HttpResponse:
    """Scan the live objects now."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    with suppress(NotPossibleError):  # a scan is already running: its result is as good
        scans.request_scan(cluster, by=request.user)
    if not is_fragment(request):
        return redirect("clusters:show-cluster", slug)
    return _render_findings(request, cluster)


def _render_findings(request: PageRequest, cluster: Cluster) -> HttpResponse:
    found = present_findings(cluster, for_user=request.user)
    return render(request, "clusters/_findings.html", {"findings": found, "slug": cluster.slug})


@requires(Action.VIEW)
def list_findings(request: PageRequest, slug: str, sort: str) -> HttpResponse:
    """List all findings of one kind; a fragment asks whether the scan has ended."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    if sort not in (*FindingSort, "all"):
        raise NotVisibleError(f"there are no findings called {sort}")
    if is_fragment(request) or sort == "all":
        return _render_findings(request, cluster)
    found = present_findings(cluster, for_user=request.user, only=FindingSort(sort))
    return render(request, "clusters/findings.html", {"findings": found, "slug": slug, "cluster": cluster})


@requires(Action.VIEW)
def show_manager(request: PageRequest, slug: str, manager: str) -> HttpResponse:
    """Show all fields that one field manager owns in this cluster."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    held = worker_requests.read_holdings(cluster, manager, by=request.user, after=visible_worker_request(request))
    page = present_holdings(cluster, manager, held)
    return render(request, "clusters/manager.html", {"page": page})


@requires(Action.WRITE, "GET", "POST")
def adopt_object(request: PageRequest, slug: str, group: str, kind: str, namespace: str, name: str) -> HttpResponse:
    """Open a review that adopts a live object."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    subject = read_address(slug, group, kind, namespace, name)
    form = AdoptForm(
        request.POST or None, initial={"title": _("Bring %(object)s under review") % {"object": f"{kind} {name}"}}
    )
    if request.method == "POST" and form.is_valid():
        number = worker_requests.adopt(
            cluster,
            of=subject.columns,
            title=form.cleaned_data["title"],
            reason=form.cleaned_data["reason"],
            options=form.read_options(subject.namespace),
            by=request.user,
        )
        return redirect("reviews:show-review", number)
    found = worker_requests.read_adoption(
        cluster, of=subject.columns, by=request.user, after=visible_worker_request(request)
    )
    context = {"form": form, "found": found, "cluster": cluster, "subject": subject}
    return render(request, "clusters/adopt.html", context, status=422 if request.method == "POST" else 200)


@requires(Action.MANAGE, "GET", "POST")
def add_cluster(request: PageRequest) -> HttpResponse:
    """Add a live cluster by an uploaded kubeconfig."""
    form = AddClusterForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            slug = worker_requests.add_cluster(by=request.user, **form.cleaned_data)
        except worker_requests.UnfinishedError:
            raise
        except ApplyVizError as error:
            add_refusal(form, error)
        else:
            messages.success(request, _("Cluster %(name)s was added.") % {"name": form.cleaned_data["name"]})
            return redirect("clusters:show-cluster", slug)
    return render(request, "clusters/add.html", {"form": form}, status=422 if request.method == "POST" else 200)
