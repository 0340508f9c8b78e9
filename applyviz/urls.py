"""All addresses: the pages, and the API servers of the sandboxes for kubectl."""

from __future__ import annotations

from django.urls import include, path

from applyviz.web.clusters.views.sandbox_api import answer_kubectl

urlpatterns = [
    path("sandboxes/<slug:slug>/<path:path>", answer_kubectl, name="answer-kubectl"),
    path("", include("applyviz.web.urls")),
]
