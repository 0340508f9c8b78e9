"""All addresses: the pages, and the sandboxes' API for kubectl."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("", include("applyviz.web.urls")),
]
