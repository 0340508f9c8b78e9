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
from applyviz.web.clusters.forms import AddClusterForm, SwitchForm
from applyviz.web.clusters.pages.applysets import present_applysets
from applyviz.web.clusters.pages.cluster_tabs import (
    ClusterTab,
    present_frame,
    present_overview,
    present_settings,
    present_work,
)
from applyviz.web.clusters.pages.clusters import (
    can_add,
    present_clusters,
    present_managers,
    present_objects,
    present_state,
)
from applyviz.web.clusters.pages.field_manager import present_holdings
from applyviz.web.clusters.pages.findings import present_findings, present_kind
from applyviz.web.clusters.pages.own_contexts import OwnContextsPage, present_own_contexts
from applyviz.web.clusters.views.manage import add_refusal
from applyviz.web.components.forms import SearchForm
from applyviz.web.frame import demo_sessions
from applyviz.web.frame.view_guard import PageRequest, is_fragment, requires, visible_worker_request
from applyviz.workflow import worker_requests
from applyviz.workflow.clusters import masking_settings, own_contexts, simulation_settings
from applyviz.workflow.clusters import registration as use_cases
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action
from applyviz.workflow.foundation.errors import NotAllowedError, NotPossibleError, NotVisibleError
from applyviz.workflow.live import scans


@requires(Action.VIEW)
def list_clusters(request: PageRequest) -> HttpResponse:
    """List all clusters; on a personal installation also the contexts of the machine's own kubeconfig."""
    own = present_own_contexts(request.user) if own_contexts.may_list(request.user) else None
    return _render_list(request, own)


def _render_list(request: PageRequest, own: OwnContextsPage | None, status: int = 200) -> HttpResponse:
    rows = present_clusters(use_cases.list_clusters(for_user=request.user), for_user=request.user)
    context = {"rows": rows, "can_add": can_add(request.user), "own": own}
    return render(request, "clusters/list.html", context, status=status)


@requires(Action.MANAGE, "POST")
def add_own_context(request: PageRequest) -> HttpResponse:
    """Add the cluster of one context of this machine's own kubeconfig; only on a personal installation."""
    name = request.POST.get("context", "")
    try:
        cluster = own_contexts.add_own_context(name, by=request.user)
    except (NotVisibleError, NotAllowedError):
        raise
    except ApplyVizError as error:
        return _render_list(request, present_own_contexts(request.user, failed=name, error=error), status=422)
    return _end_adding(request, cluster.name, cluster.slug)


def _end_adding(request: PageRequest, name: str, slug: str) -> HttpResponse:
    demo_sessions.keep(request)
    messages.success(request, _("Cluster %(name)s was added.") % {"name": name})
    return redirect("clusters:show-cluster", slug)


@requires(Action.VIEW)
def download_kubeconfig(request: PageRequest, slug: str) -> HttpResponse:
    """Send the kubeconfig of a sandbox: it contains a token, so nothing may store it."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    address = request.build_absolute_uri("/").rstrip("/")
    text = worker_requests.read_kubeconfig(cluster, address=address, by=request.user)
    response = HttpResponse(text, content_type="application/yaml; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slug}.kubeconfig"'
    response["Cache-Control"] = "no-store"
    return response


def _render_tab(request: PageRequest, cluster: Cluster, tab: ClusterTab, page: object) -> HttpResponse:
    frame = present_frame(cluster, tab, for_user=request.user)
    name = "overview" if tab is ClusterTab.OVERVIEW else tab.value
    return render(request, f"clusters/tabs/{name}.html", {"frame": frame, "cluster": frame.cluster, "page": page})


@requires(Action.VIEW)
def show_cluster(request: PageRequest, slug: str) -> HttpResponse:
    """Show the health of one cluster, what happened there, and its drift."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    return _render_tab(request, cluster, ClusterTab.OVERVIEW, present_overview(cluster, for_user=request.user))


@requires(Action.VIEW)
def show_objects(request: PageRequest, slug: str) -> HttpResponse:
    """Show the live objects."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    inventory = worker_requests.read_inventory(cluster, by=request.user, after=visible_worker_request(request))
    typed = SearchForm.read(request.GET)
    can_adopt = access.may_use(request.user, Action.WRITE, slug)
    page = present_objects(cluster, inventory, typed, request.GET.get("page"), can_adopt=can_adopt)
    return _render_tab(request, cluster, ClusterTab.OBJECTS, page)


@requires(Action.VIEW)
def show_managers(request: PageRequest, slug: str) -> HttpResponse:
    """Show the field managers of the live objects."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    inventory = worker_requests.read_inventory(cluster, by=request.user, after=visible_worker_request(request))
    return _render_tab(request, cluster, ClusterTab.MANAGERS, present_managers(cluster, inventory))


@requires(Action.VIEW)
def show_applysets(request: PageRequest, slug: str) -> HttpResponse:
    """Show the ApplySets with their members."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    found = worker_requests.read_applysets(cluster, by=request.user, after=visible_worker_request(request))
    return _render_tab(request, cluster, ClusterTab.APPLYSETS, present_applysets(cluster, found))


@requires(Action.VIEW)
def show_runs(request: PageRequest, slug: str) -> HttpResponse:
    """Show the reviews and runs of the cluster."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    return _render_tab(request, cluster, ClusterTab.RUNS, present_work(cluster, for_user=request.user))


@requires(Action.VIEW)
def show_settings(request: PageRequest, slug: str) -> HttpResponse:
    """Show how applyviz treats the cluster."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    return _render_tab(request, cluster, ClusterTab.SETTINGS, present_settings(cluster, for_user=request.user))


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
    form = SwitchForm(request.POST)
    if form.is_valid() and masking_settings.mask_credentials(
        cluster, is_on=form.cleaned_data["is_on"], by=request.user
    ):
        masks = _("New plans mask credentials in plain fields.")
        shows = _("New plans show credentials in plain fields.")
        messages.success(request, masks if form.cleaned_data["is_on"] else shows)
    return redirect("clusters:show-settings", slug)


@requires(Action.MANAGE, "POST")
def set_simulation(request: PageRequest, slug: str) -> HttpResponse:
    """Start or stop the simulation of a sandbox's workloads."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    form = SwitchForm(request.POST)
    if form.is_valid() and simulation_settings.simulate_workloads(
        cluster, is_on=form.cleaned_data["is_on"], by=request.user
    ):
        started, stopped = _("The sandbox simulates workloads."), _("The simulation is stopped; all objects stay.")
        messages.success(request, started if form.cleaned_data["is_on"] else stopped)
    return redirect("clusters:show-settings", slug)


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
    typed, number = SearchForm.read(request.GET), request.GET.get("page", "")
    found = present_kind(cluster, FindingSort(sort), typed=typed, number=number, for_user=request.user)
    return render(request, "clusters/findings.html", {"findings": found, "cluster": cluster})


@requires(Action.VIEW)
def show_manager(request: PageRequest, slug: str, manager: str) -> HttpResponse:
    """Show all fields that one field manager owns in this cluster."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    holdings = worker_requests.read_holdings(cluster, manager, by=request.user, after=visible_worker_request(request))
    page = present_holdings(cluster, manager, holdings, request.GET.get("page"))
    return render(request, "clusters/manager.html", {"page": page})


@requires(Action.MANAGE, "GET", "POST")
def add_cluster(request: PageRequest) -> HttpResponse:
    """Add a live cluster by an uploaded kubeconfig."""
    form = AddClusterForm(request.POST or None, request.FILES or None)
    if form.is_valid() and use_cases.is_slug_used(form.cleaned_data["slug"]):
        form.add_error("slug", _("Another cluster already uses this slug."))
    if request.method == "POST" and form.is_valid():
        values = {**form.cleaned_data, "kubeconfig": form.cleaned_data["kubeconfig"].read()}
        try:
            slug = worker_requests.add_cluster(by=request.user, **values)
        except worker_requests.UnfinishedError:
            raise
        except ApplyVizError as error:
            add_refusal(form, error)
        else:
            return _end_adding(request, form.cleaned_data["name"], slug)
    return render(request, "clusters/add.html", {"form": form}, status=422 if request.method == "POST" else 200)
