"""Check the keys that each kind of process of a team installation must have, and must not have.

A web process seals, and computes nothing that a run relies on except approvals; workers open, plan, run and sign. Rule:
a missing, weak or misplaced key stops the start with the name of its variable. A personal installation is one process
and creates all of them.
"""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from applyviz import environment
from applyviz.records import sealing

_OF_BOTH = ("SECRET_KEY", "APPLYVIZ_WEB_KEY", "APPLYVIZ_APPROVAL_KEY")
_OF_WORKERS = (*_OF_BOTH, "APPLYVIZ_DIGEST_KEY")
_NEVER_WEB = ("APPLYVIZ_OPENING_KEYS", "APPLYVIZ_DIGEST_KEY")


def _require(names: tuple[str, ...]) -> None:
    for name in names:
        environment.require_key(name, getattr(settings, name))


def require_web_keys() -> None:
    """Raise `ImproperlyConfigured` unless this process has the right keys to serve pages."""
    sealing.sealing_key()
    if settings.APPLYVIZ_IS_PERSONAL:
        return
    _require(_OF_BOTH)
    for name in _NEVER_WEB:
        if getattr(settings, name):
            raise ImproperlyConfigured(
                f"{name}: a web process of a team must not hold it; workers do. It seals with APPLYVIZ_SEALING_KEY, "
                "which `manage.py keys show` prints beside the worker's keys"
            )
    if len(settings.APPLYVIZ_CHECKPOINT_PUBLIC_KEY) != 64:
        raise ImproperlyConfigured(
            "APPLYVIZ_CHECKPOINT_PUBLIC_KEY: it is not set; a web process shows it and checks published checkpoints "
            "with it. `manage.py audit key` prints it where a worker runs"
        )


def require_worker_keys() -> None:
    """Raise `ImproperlyConfigured` unless this process has the right keys to plan, run and sign."""
    if settings.APPLYVIZ_IS_PERSONAL:
        return
    _require(_OF_WORKERS)
    if not sealing.can_open():
        raise ImproperlyConfigured("APPLYVIZ_OPENING_KEYS: it is not set; a worker needs the keys that open")
    problem = sealing.find_mismatch()
    if problem:
        raise ImproperlyConfigured(problem)
