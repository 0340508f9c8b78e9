"""The enums of worker requests: what a page asks, and how far the answer is."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class WorkerRequestKind(models.TextChoices):
    """The kind of a page's request to a worker, because only workers have the keys that open."""

    INVENTORY = "inventory", _("the live objects of a cluster")
    HOLDINGS = "holdings", _("the fields of a field manager")
    STATE = "state", _("status and permissions")
    SCHEMA = "schema", _("the schema of a field")
    COMPARE = "compare", _("the changes between two plans")
    ADOPTION = "adoption", _("the live object as a manifest")
    ADOPT = "adopt", _("a review of a live object")
    UNDO = "undo", _("a review that reverts a run")
    ADD_CLUSTER = "add-cluster", _("adding a cluster")
    CREDENTIAL = "credential", _("replacing a credential")
    CONNECTION = "connection", _("testing a connection")
    SANDBOX = "sandbox", _("a request to a sandbox")
    SECRET_ACCESS = "secret-access", _("the Secrets that a person can read")
    GIT = "git", _("the files of a git repository")
    GIT_TEST = "git-test", _("testing a repository credential")
    API_VERSIONS = "api-versions", _("the APIs of a cluster")
    RUN_HEALTH = "run-health", _("the live objects of a run")
    APPLYSETS = "applysets", _("the ApplySets of a cluster")


class WorkerRequestState(models.TextChoices):
    """The state of a worker request; only waiting is not final."""

    WAITING = "waiting", _("waiting for a worker")
    DONE = "done", _("done")
    REFUSED = "refused", _("refused")
    EXPIRED = "expired", _("no worker responded in time")
