"""The contexts of this machine's own kubeconfig, in a personal installation: listed, and added by one click.

There, and only there, pages may read that file and run its credential plugins: the machine, the file and the plugins
belong to the person. In a team installation they would be the server's, so every function refuses before it reads.
"""

from __future__ import annotations

import os

from django.conf import settings
from django.utils.text import slugify
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.clusters import connect, own_kubeconfig
from applyviz.clusters.own_kubeconfig import OwnContext
from applyviz.records.models import Cluster
from applyviz.workflow.clusters import registration
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotPossibleError, NotVisibleError

_MOST_SLUG, _MOST_NAME = 63, 120
_ADDRESSES = ("new", "contexts")
"""Pages beside those of clusters."""


class KnownContext(Struct, frozen=True):
    """A context, and the cluster that was added from the same server; None before."""

    context: OwnContext
    cluster: Cluster | None


class OwnContexts(Struct, frozen=True):
    """The contexts of this machine, the files that were looked for, and what could not be read."""

    rows: tuple[KnownContext, ...]
    paths: tuple[str, ...]
    problems: tuple[str, ...]


def may_list(visitor: Visitor) -> bool:
    """Return whether this installation and this person may use the machine's own kubeconfig."""
    return bool(settings.APPLYVIZ_IS_PERSONAL) and access.can(visitor, Action.MANAGE)


def _require(by: Person) -> None:
    if not settings.APPLYVIZ_IS_PERSONAL:
        raise NotVisibleError("only a personal installation uses the kubeconfig of its machine")
    access.require(by, Action.MANAGE)


def list_own_contexts(*, by: Person) -> OwnContexts:
    """Return the contexts of this machine. Reads the files; runs no plugin and asks no server.

    - Raises `NotVisibleError` in a team installation, `NotAllowedError` for people who may not add clusters.
    """
    _require(by)
    found = own_kubeconfig.list_contexts()
    known = {cluster.server: cluster for cluster in registration.list_clusters(for_user=by) if cluster.server}
    rows = tuple(KnownContext(context, known.get(context.server)) for context in found.contexts)
    return OwnContexts(rows, found.paths, found.problems)


def _choose_slug(name: str) -> str:
    """Return a free slug for a context; names of EKS are ARNs, of GKE joined by underscores."""
    base = slugify(name.rsplit("/", 1)[-1].replace("_", "-").replace(".", "-"))[: _MOST_SLUG - 3].strip("-")
    taken = {*_ADDRESSES, *Cluster.objects.values_list("slug", flat=True)}
    return next(
        slug for slug in (base or "cluster", *(f"{base or 'cluster'}-{n}" for n in range(2, 100))) if slug not in taken
    )


def add_own_context(context: str, *, by: Person) -> Cluster:
    """Add the cluster of one context: run its plugin, ask the server who it is, and keep the context's name.

    - Raises as `list_own_contexts` does, `NotPossibleError` for an unknown context or a known cluster, and
      `ClusterError` with a sentence when the plugin or the server fails.
    """
    _require(by)
    found = own_kubeconfig.list_contexts()
    chosen = next((one for one in found.contexts if one.name == context), None)
    if chosen is None:
        raise NotPossibleError(_("the kubeconfig of this machine has no context %(name)s") % {"name": context})
    credential = {"form": connect.OWN_CONTEXT, "context": context, "path": os.pathsep.join(found.paths)}
    return registration.add_live_cluster(
        slug=_choose_slug(context),
        name=context[:_MOST_NAME],
        server=chosen.server,
        credential=credential,
        by=by,
    )
