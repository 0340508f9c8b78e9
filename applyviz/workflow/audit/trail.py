"""The audit trail: entries are only added, and the hash of each covers the one before.

`record` runs inside the transaction of the row change that it describes, before any side effect. Worker entries of an
apply run go into the chain of that run, so that workers do not wait for each other; all other entries, and the ends of
run chains, go into the global chain (`chain.py` verifies both, `anchors.py` anchors them). Detail holds masked text
only; the caller masks it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from datetime import UTC
from functools import partial
from typing import Any, TypeAlias

from django.db import transaction
from msgspec import Struct

from applyviz import audit_origin, clock, request_ids
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject, canonical_json
from applyviz.records.enums import AuditAction
from applyviz.records.full_text import collect_words
from applyviz.records.models import ApplyRun, AuditEntry, ChainEnd, Plan
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation import gathering as gathering_rows
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.scopes import is_everywhere
from applyviz.workflow.foundation.sequences import lock_end
from applyviz.workflow.foundation.stored_json import as_stored

SYSTEM = "applyviz"
GENESIS = "0" * 64
GLOBAL = 0
_MOST_ROLES = 400
# A person's acts on a run, and its end, belong to the global chain.
_OF_RUN_BUT_GLOBAL = frozenset(
    {AuditAction.RUN_STARTED, AuditAction.RUN_RETRIED, AuditAction.RUN_CANCELED, AuditAction.RUN_FINISHED}
)
HASHED = (
    "chain", "sequence", "action", "actor_id", "actor_name", "roles", "session", "address", "agent",
    "request_id", "cluster", "review", "plan", "run", "group", "kind", "namespace", "name", "field_manager",
    "plan_digest", "detail_hash",
)  # fmt: skip
# Hot in verification: built once.
encode = json.JSONEncoder(separators=(",", ":")).encode
STORED = (*HASHED, "at", "previous_hash", "detail", "salt", "pruned_by", "id", "hash")
SEARCHED = (
    "action", "actor_name", "cluster", "kind", "namespace", "name", "field_manager", "plan_digest", "request_id",
    "address", "agent",
)  # fmt: skip


class AuditSubject(Struct, frozen=True):
    """The subject of an entry: slug of the cluster, numbers of review, plan and run, object, digest."""

    cluster: str = ""
    review: int | None = None
    plan: int | None = None
    run: int | None = None
    ref: ObjectRef | None = None
    field_manager: str = ""
    plan_digest: str = ""

    @classmethod
    def of_plan(cls, plan: Plan) -> AuditSubject:
        """Return the subject of an entry about a plan."""
        return cls(
            cluster=plan.target.cluster.slug, review=plan.review.number, plan=plan.number, plan_digest=plan.digest
        )

    @classmethod
    def of_run(cls, run: ApplyRun) -> AuditSubject:
        """Return the subject of an entry about a run, its plan included."""
        return replace(cls.of_plan(run.plan), run=run.number)


StoredEntry: TypeAlias = Mapping[str, Any]
"""The values of a row of the audit log, by column."""


def canonical_entry(row: StoredEntry) -> dict[str, JSONValue]:
    """Return a stored entry (`STORED`) in the form of exports."""
    return {name: row[name] for name in STORED if name != "at"} | {"at": render_moment(row)}


def render_moment(row: StoredEntry) -> str:
    """Return the time of an entry as the hash covers it."""
    text: str = row["at"].astimezone(UTC).isoformat(timespec="microseconds")
    return text


def hash_detail(salt: str, detail: str) -> str:
    """Return the salted hash of a detail in canonical JSON, which stays when the detail is removed."""
    return hashlib.sha256((salt + detail).encode()).hexdigest()


def hash_entry(row: StoredEntry) -> str:
    """Return the hash of an entry with this content; it covers the hash of the detail."""
    text = encode([render_moment(row), *(row[name] for name in HASHED)])
    return hashlib.sha256((row["previous_hash"] + text).encode()).hexdigest()


def find_start(run: int) -> str:
    """Return the hash that the first entry in the chain of a run follows: that of the entry of its start."""
    started = AuditEntry.objects.filter(chain=GLOBAL, run=run, action=AuditAction.RUN_STARTED)
    return started.order_by("id").values_list("hash", flat=True).first() or GENESIS


def lock_chain(chain: int) -> ChainEnd:
    """Lock the end of a chain until the surrounding transaction ends; lock a run's chain before the global one.

    - While rows are gathered, the end includes the entries that wait.
    """
    gathering = gathering_rows.find_current()
    if gathering is None:
        return _lock_end(chain)
    if chain not in gathering.chain_ends:
        gathering.chain_ends[chain] = head = _lock_end(chain)
        gathering.at_end.append(partial(_store_end, head))
    return gathering.chain_ends[chain]


def _lock_end(chain: int) -> ChainEnd:
    return lock_end() if chain == GLOBAL else lock_end(chain, partial(find_start, chain))


def _store_end(head: ChainEnd) -> None:
    ChainEnd.objects.filter(chain=head.chain).update(sequence=head.sequence, hash=head.hash)


def _object_columns(ref: ObjectRef | None) -> dict[str, str]:
    if ref is None:
        return {}
    return {"group": ref.gvk.group, "kind": ref.gvk.kind, "namespace": ref.namespace, "name": ref.name}


def _name_roles(by: Person) -> str:
    """Return the current roles of a person, with the scopes of those that do not apply everywhere."""
    if by.is_superuser:
        return "superuser"
    found = set()
    for grant in access.list_grants(by):
        label = f"{grant.cluster_pattern}/{grant.namespace_pattern}"
        found.add(grant.role if is_everywhere(grant) else f"{grant.role}@{label}")
    return " ".join(sorted(found))[:_MOST_ROLES]


def _person_columns(by: Person | None) -> dict[str, Any]:
    """Return the columns for the person, their current roles and their origin."""
    origin = audit_origin.current.get()
    return {
        "actor": by,
        "actor_name": by.get_username() if by else SYSTEM,
        "roles": _name_roles(by) if by else "",
        "session": origin.session,
        "address": origin.address,
        "agent": origin.agent,
        "request_id": request_ids.current.get(),
    }


def _choose_chain(action: AuditAction, about: AuditSubject) -> int:
    return GLOBAL if about.run is None or action in _OF_RUN_BUT_GLOBAL else about.run


def _complete_detail(action: AuditAction, about: AuditSubject, detail: JSONObject | None) -> MutableObject:
    """Return the detail of an entry; for the end of a run with the end of its chain, which anchors it."""
    completed = as_stored(dict(detail or {}))
    if action is AuditAction.RUN_FINISHED and about.run is not None:
        head = lock_chain(about.run)
        completed["heads"] = {str(about.run): f"{head.sequence}:{head.hash}"}
        ChainEnd.objects.filter(chain=about.run).update(anchored=head.sequence, anchored_at=clock.host_now())
    return completed


def record(
    action: AuditAction, *, by: Person | None, about: AuditSubject, detail: JSONObject | None = None
) -> AuditEntry:
    """Add one entry; it becomes part of the surrounding transaction.

    - `by` None means that applyviz itself acted (a worker).
    - The end of the entry's chain is locked until that transaction ends, so that the chain has one order.
    """
    with transaction.atomic(savepoint=False):  # an act that cannot be recorded must not happen: roll back everything
        completed = _complete_detail(action, about, detail)
        head = lock_chain(_choose_chain(action, about))
        entry = AuditEntry(
            chain=head.chain,
            sequence=head.sequence + 1,
            at=clock.host_now(),
            action=action.value,
            cluster=about.cluster,
            review=about.review,
            plan=about.plan,
            run=about.run,
            field_manager=about.field_manager,
            plan_digest=about.plan_digest,
            detail=completed,
            salt=secrets.token_hex(16),
            previous_hash=head.hash,
            **_person_columns(by),
            **_object_columns(about.ref),
        )
        seal(entry)
        gathering_rows.insert(entry)
        head.sequence, head.hash = entry.sequence, entry.hash
        if gathering_rows.find_current() is None:
            _store_end(head)
    return entry


def searched_columns(entry: AuditEntry) -> tuple[str, ...]:
    """Return the texts that full text search reads besides the detail."""
    return tuple(getattr(entry, name) for name in SEARCHED)


def seal(entry: AuditEntry) -> None:
    """Fill in the search text and both hashes."""
    detail = canonical_json(entry.detail)
    entry.words = collect_words(searched_columns(entry), entry.detail, detail)
    entry.detail_hash = hash_detail(entry.salt, detail)
    entry.hash = hash_entry({name: getattr(entry, name) for name in STORED[:-1]})
