"""Unreviewed changes: live changes that no run explains; a pure calculation over one object and the writes of runs.

Rule: an entry of managedFields has the time at which its manager last changed a field or its value, in whole seconds
of the API server's clock (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management). A write
of a run explains the entry of the run's field manager if that time lies between request and answer, both by the clock
of the API server. It also explains the entries of that time that the server names itself: it credits what an object
without owners had to `before-first-apply`, and merges the oldest of more than ten entries into `ancient-changes`, which
has the time of the last of them. Status is ignored: it is reported, not desired.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from applyviz.clusters.server_clock import AGREEMENT
from applyviz.engine.objects.known_names import LAST_APPLIED_PATH
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.ownership.bookkeeping import ANCIENT_CHANGES, BEFORE_FIRST_APPLY
from applyviz.engine.ownership.managed_fields import OwnedFields, read_owners

MOST_FIELDS = 200
_SECOND = timedelta(seconds=1)
_SYSTEM = frozenset(
    {"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "cloud-controller-manager"}
)
_OF_SERVER = frozenset({BEFORE_FIRST_APPLY, ANCIENT_CHANGES})


class ExternalWrite(Struct, frozen=True):
    """One request of a run that changed an object; its times are of the clock of the API server."""

    manager: str
    sent_at: datetime
    answered_at: datetime
    run: int


class UnreviewedChange(Struct, frozen=True):
    """The changes of one field owner that no run made, dated by the API server; only the first `fields` are kept."""

    owner: Owner
    at: datetime
    fields: tuple[str, ...]
    field_count: int


def read_moment(text: str) -> datetime | None:
    """Return the time of a managedFields entry; None without one."""
    return datetime.fromisoformat(text) if text else None


def is_controller(manager: str) -> bool:
    """Return whether a field manager is part of Kubernetes itself."""
    return manager in _SYSTEM


def is_made_by_controller(live: JSONObject) -> bool:
    """Return whether another object controls this one, as a ReplicaSet controls its Pods."""
    owners = get_at(live, ("metadata", "ownerReferences"), [])
    return any(isinstance(one, dict) and one.get("controller") is True for one in owners or ())


def _is_explained(owner: Owner, at: datetime, writes: Iterable[ExternalWrite]) -> bool:
    is_of_server = owner.manager in _OF_SERVER
    return any(
        (is_of_server or write.manager == owner.manager)
        and write.sent_at - AGREEMENT - _SECOND <= at <= write.answered_at + AGREEMENT
        for write in writes
    )


def _list_fields(owned: OwnedFields) -> tuple[FieldPath, ...]:
    return tuple(path for path in owned.fields if path != LAST_APPLIED_PATH)


def _present(owned: OwnedFields, at: datetime) -> UnreviewedChange | None:
    paths = _list_fields(owned)
    if not paths:
        return None
    return UnreviewedChange(owned.owner, at, tuple(render_path(path) for path in paths[:MOST_FIELDS]), len(paths))


def find_unreviewed_changes(
    live: JSONObject, writes: Sequence[ExternalWrite], *, since: datetime | None = None
) -> tuple[UnreviewedChange, ...]:
    """Return the managedFields entries of an object that no write explains, oldest first.

    - `since`, by the clock of the API server, skips earlier changes: reviewers saw what existed when a run first
      applied the object. Entries without a time count only without `since`, dated at the epoch.
    """
    found = []
    for owned in read_owners(live).entries:
        if owned.owner.subresource == "status":
            continue
        at = read_moment(owned.owner.time)
        if at is None or (since is not None and at < since.replace(microsecond=0)):
            continue
        if not _is_explained(owned.owner, at, writes):
            found.append(_present(owned, at))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: (one.at, one.owner.manager)))
