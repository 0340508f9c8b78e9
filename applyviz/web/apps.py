"""The web app: pages; it loads Celery and the tasks, so that they are registered wherever pages are served."""

from __future__ import annotations

import gc
from importlib import import_module

from django.apps import AppConfig

# New objects before a young collection; young collections before a middle one; middle ones before a full one.
COLLECTED_AFTER = (10_000, 10, 10)


class WebConfig(AppConfig):
    """Pages, forms and management commands."""

    name = "applyviz.web"
    label = "web"

    def ready(self) -> None:
        """Make the Celery application the current one, register every task, and begin to collect garbage.

        - Loaded code stays in memory, so later collections skip it.
        - A page of large objects makes hundreds of thousands of values, which all live until it is shown: with Python's
          threshold of 700, visiting them again and again was a fifth of its time.
        """
        import_module("applyviz.celery")
        import_module("applyviz.tasks")
        gc.freeze()
        gc.set_threshold(*COLLECTED_AFTER)
        gc.enable()
