"""The web app: pages; it loads Celery and the tasks, so that they are registered wherever pages are served."""

from __future__ import annotations

import gc
from importlib import import_module

from django.apps import AppConfig


class WebConfig(AppConfig):
    """Pages, forms and management commands."""

    name = "applyviz.web"
    label = "web"

    def ready(self) -> None:
        """Make the Celery application the current one, register every task, and begin to collect garbage.

        Loaded code stays in memory, so later collections skip it.
        """
        import_module("applyviz.celery")
        import_module("applyviz.tasks")
        gc.freeze()
        gc.enable()
