"""Clusters: the list, a page with its objects and their field managers, adding a live one."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.web.forms.clusters import AddClusterForm
from applyviz.web.presenters.clusters import can_add, present_cluster, present_clusters
from applyviz.web.views.doors import PageRequest, needs
from applyviz.workflow import clusters as use_cases
from applyviz.workflow.access import Action
from applyviz.workflow.inventory import read_inventory


@needs(Action.LOOK)
def list_clusters(request: PageRequest) -> HttpResponse:
    """All clusters."""
    rows = present_clusters(use_cases.list_clusters(for_user=request.user))
    return render(request, "clusters/list.html", {"rows": rows, "can_add": can_add(request.user)})


@needs(Action.LOOK)
def show_cluster(request: PageRequest, slug: str) -> HttpResponse:
    """One cluster with its objects."""
    cluster = use_cases.get_cluster(slug, for_user=request.user)
    inventory = read_inventory(cluster, for_user=request.user)
    return render(
        request, "clusters/cluster.html", {"page": present_cluster(cluster, inventory, for_user=request.user)}
    )


@needs(Action.MANAGE, "GET", "POST")
def add_cluster(request: PageRequest) -> HttpResponse:
    """Add a live cluster by an uploaded kubeconfig."""
    form = AddClusterForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            cluster = use_cases.upload_cluster(by=request.user, **form.cleaned_data)
        except ApplyVizError as error:
            for reason in getattr(error, "reasons", None) or (str(error),):
                form.add_error(None, reason)
        else:
            messages.success(request, _("Cluster %(name)s was added.") % {"name": cluster.name})
            return redirect("clusters:show-cluster", cluster.slug)
    return render(request, "clusters/add.html", {"form": form}, status=422 if request.method == "POST" else 200)
