"""The web application; loading it registers the tasks that use cases ask for by name."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class WebConfig(AppConfig):
    """Pages, forms and commands."""

    name = "applyviz.web"
    label = "web"

    def ready(self) -> None:
        """Make the Celery application the current one and register every task."""
        import_module("applyviz.celery")
        import_module("applyviz.tasks")
