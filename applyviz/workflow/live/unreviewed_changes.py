"""Which live changes no run explains: a pure calculation over one live object and what runs wrote to it.

Rule: an entry of managedFields has the time at which its manager last changed a field or its value, in whole seconds
of the API server's clock (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management). A write
of a run explains the entry of its own field manager when that time lies between sending and answer. Status is left
out: it is reported and not wished for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath, render_path
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.ownership.managed_fields import OwnedFields, read_owners

# How far the clocks of an API server and of a worker may be apart.
TOLERANCE = timedelta(seconds=10)
MOST_FIELDS = 200
_SECOND = timedelta(seconds=1)
_SYSTEM = frozenset(
    {"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "cloud-controller-manager"}
)
_NOISE = ("f:metadata", "f:annotations", "f:kubectl.kubernetes.io/last-applied-configuration")


@dataclass(frozen=True, slots=True)
class ExternalWrite:
    """One request of a run that changed an object."""

    manager: str
    sent_at: datetime
    answered_at: datetime
    run: int


@dataclass(frozen=True, slots=True)
class UnreviewedChange:
    """What one field owner changed while no run did; `fields` are paths as people read them, the first of them."""

    owner: Owner
    at: datetime
    fields: tuple[str, ...]
    field_count: int


def read_moment(text: str) -> datetime | None:
    """The moment of a managedFields entry; None without one."""
    return datetime.fromisoformat(text) if text else None


def is_controller(manager: str) -> bool:
    """Whether a field manager is part of Kubernetes itself."""
    return manager in _SYSTEM


def is_made_by_controller(live: JSONObject) -> bool:
    """Whether another object controls this one, as a ReplicaSet controls its Pods."""
    owners = get_at(live, ("metadata", "ownerReferences"), [])
    return any(isinstance(one, dict) and one.get("controller") is True for one in owners or ())


def _is_explained(owner: Owner, at: datetime, writes: Iterable[ExternalWrite], tolerance: timedelta) -> bool:
    return any(
        write.manager == owner.manager and write.sent_at - tolerance - _SECOND <= at <= write.answered_at + tolerance
        for write in writes
    )


def _list_fields(owned: OwnedFields) -> tuple[FieldPath, ...]:
    return tuple(path for path in owned.fields if path != _NOISE)


def _present(owned: OwnedFields, at: datetime) -> UnreviewedChange | None:
    paths = _list_fields(owned)
    if not paths:
        return None
    return UnreviewedChange(owned.owner, at, tuple(render_path(path) for path in paths[:MOST_FIELDS]), len(paths))


def find_unreviewed_changes(
    live: JSONObject,
    writes: Sequence[ExternalWrite],
    *,
    since: datetime | None = None,
    tolerance: timedelta = TOLERANCE,
) -> tuple[UnreviewedChange, ...]:
    """The entries of an object's owners that no write explains, oldest first.

    - `since` leaves out what was changed before: what was there when the object was first applied by a run was seen
      by its reviewers. Entries without a time are unexplained only without `since`, at the epoch.
    """
    found = []
    for owned in read_owners(live).entries:
        if owned.owner.subresource == "status":
            continue
        at = read_moment(owned.owner.time)
        if at is None or (since is not None and at < since.replace(microsecond=0)):
            continue
        if not _is_explained(owned.owner, at, writes, tolerance):
            found.append(_present(owned, at))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: (one.at, one.owner.manager)))
