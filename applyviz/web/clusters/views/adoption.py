"""Bringing live objects under review: one with its manifest shown before, or several that were ticked."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.web.clusters.forms import AdoptForm, ObjectNamesForm
from applyviz.web.frame.view_guard import PageRequest, requires, visible_worker_request
from applyviz.web.history.pages.object_timeline import read_address
from applyviz.workflow import worker_requests
from applyviz.workflow.clusters import registration
from applyviz.workflow.foundation.access import Action


@requires(Action.WRITE, "GET", "POST")
def adopt_object(request: PageRequest, slug: str, group: str, kind: str, namespace: str, name: str) -> HttpResponse:
    """Open a review that adopts a live object."""
    cluster = registration.get_cluster(slug, for_user=request.user)
    subject = read_address(slug, group, kind, namespace, name)
    form = AdoptForm(
        request.POST or None, initial={"title": _("Bring %(object)s under review") % {"object": f"{kind} {name}"}}
    )
    if request.method == "POST" and form.is_valid():
        number = worker_requests.adopt(
            cluster,
            objects=[subject.columns],
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


@requires(Action.WRITE, "POST")
def adopt_objects(request: PageRequest, slug: str) -> HttpResponse:
    """Ask how the ticked live objects are brought under review, and open one review of them all."""
    cluster = registration.get_cluster(slug, for_user=request.user)
    names = ObjectNamesForm(request.POST)
    if not names.is_valid():
        messages.error(request, " ".join(str(error) for error in names.errors.get("objects", ())))
        return redirect("clusters:show-objects", slug)
    objects = names.cleaned_data["objects"]
    count = {"n": len(objects), "cluster": cluster.name}
    title = ngettext(
        "Bring %(n)d object of %(cluster)s under review",
        "Bring %(n)d objects of %(cluster)s under review",
        len(objects),
    )
    is_answer = "title" in request.POST
    form = AdoptForm(request.POST if is_answer else None, initial={"title": title % count})
    if is_answer and form.is_valid():
        chosen = form.cleaned_data
        options = form.read_options("")
        number = worker_requests.adopt(
            cluster, objects=objects, title=chosen["title"], reason=chosen["reason"], options=options, by=request.user
        )
        return redirect("reviews:show-review", number)
    context = {"form": form, "objects": objects, "names": request.POST.getlist("objects"), "cluster": cluster}
    return render(request, "clusters/adopt_objects.html", context, status=422 if is_answer else 200)
