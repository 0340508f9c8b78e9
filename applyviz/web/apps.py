"""The web app: pages; it loads the tasks, so that they are registered wherever pages are served."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from django.apps import AppConfig


class WebConfig(AppConfig):
    """Pages, forms, presenters and management commands."""

    name = "applyviz.web"
    label = "web"

    def ready(self) -> None:
        """Register the tasks by importing them."""
        if find_spec("applyviz.tasks"):
