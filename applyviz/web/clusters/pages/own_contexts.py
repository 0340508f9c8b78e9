"""Read model of the contexts of this machine's own kubeconfig."""

from __future__ import annotations

from django.urls import reverse
from msgspec import Struct

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.workflow.clusters import own_contexts
from applyviz.workflow.foundation.access import Person


class ContextRow(Struct, frozen=True):
    """One context; `cluster_url` leads to the cluster that was added from the same server."""

    known: own_contexts.KnownContext
    cluster_url: str


class OwnContextsPage(Struct, frozen=True):
    """The contexts of this machine, and why the last one could not be added.

    - `server_message` is the original text of a plugin or a server.
    """

    rows: tuple[ContextRow, ...]
    paths: tuple[str, ...]
    problems: tuple[str, ...]
    failed: str = ""
    reasons: tuple[str, ...] = ()
    server_message: str = ""


def present_own_contexts(person: Person, *, failed: str = "", error: ApplyVizError | None = None) -> OwnContextsPage:
    """Return the contexts; `error` is why the context `failed` was not added."""
    found = own_contexts.list_own_contexts(by=person)
    rows = tuple(
        ContextRow(row, reverse("clusters:show-cluster", args=[row.cluster.slug]) if row.cluster else "")
        for row in found.rows
    )
    reasons = () if error is None else tuple(getattr(error, "reasons", ())) or (str(error),)
    return OwnContextsPage(
        rows, found.paths, found.problems, failed, reasons, getattr(error, "detail", "") if error else ""
    )
