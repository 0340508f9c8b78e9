"""Handlers of worker requests: read, calculate, then act; the act and the answer share one transaction.

Every handler calls the use case as the requester, so that rights are checked again here.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from typing import cast

import msgspec
from django.db import transaction
from msgspec import Struct

from applyviz.clusters import sandbox
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.digest.serialize import options_from_json, to_json
from applyviz.records.models import ApplyRun, Cluster, Plan, Review
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.sandbox.api.http import WatchPosition
from applyviz.sources.git.model import GitSource, RefusedFilesError
from applyviz.workflow import runs
from applyviz.workflow.clusters import cluster_access, lifecycle, registration, sandboxes
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Action, Person
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.foundation.visible_rows import get_visible
from applyviz.workflow.live import adoption, applysets, field_details, inventory, run_health
from applyviz.workflow.people import tokens
from applyviz.workflow.plans import charts, comparisons, git_sources, live_values, repository_credentials, revert

Act = Callable[[], JSONValue]


class Asked(Struct, frozen=True):
    """A question for a handler: requester, cluster, ids and names, and the decrypted content."""

    by: Person | None
    cluster: Cluster | None
    content: JSONObject
    secret: bytes = b""

    @property
    def person(self) -> Person:
        """Return the requester; raises `NotVisibleError` without one."""
        if self.by is None:
            raise NotVisibleError("a person must request this")
        return self.by

    @property
    def visible_cluster(self) -> Cluster:
        """Return the cluster of the question, as visible to the requester."""
        if self.cluster is None:
            raise NotVisibleError("there is no such cluster")
        return registration.get_cluster(self.cluster.slug, for_user=self.person)


def _inventory(asked: Asked) -> Act:
    found = inventory.read_inventory(asked.visible_cluster, for_user=asked.person)
    return lambda: to_json(found)


def _holdings(asked: Asked) -> Act:
    found = inventory.read_holdings(asked.visible_cluster, asked.content["manager"], for_user=asked.person)
    return lambda: to_json(found)


def _state(asked: Asked) -> Act:
    found = cluster_access.read_state(asked.visible_cluster, for_user=asked.person)
    return lambda: to_json(found)


def _find_plan(number: int) -> Plan:
    return get_visible(Plan.objects.select_related("review", "target__cluster"), "there is no such plan", pk=number)


def _schema(asked: Asked) -> Act:
    plan = _find_plan(asked.content["plan"])
    access.require(asked.person, Action.VIEW, access.scopes_of(plan.review))
    path = tuple(asked.content["path"])
    facts = field_details.read_facts(plan, GroupVersionKind(*asked.content["gvk"]), path)
    return lambda: None if facts is None else to_json(facts)


def _compare(asked: Asked) -> Act:
    first, second = (_find_plan(asked.content[name]) for name in ("first", "second"))
    moves = comparisons.compare_secrets(first, second)
    return lambda: moves


def _adoption(asked: Asked) -> Act:
    found = adoption.read_adoption(asked.visible_cluster, **asked.content["object"], by=asked.person)
    return lambda: to_json(found)


def _adopt(asked: Asked) -> Act:
    content = asked.content
    act = adoption.prepare_adoption(
        asked.visible_cluster,
        objects=content["objects"],
        title=content["title"],
        reason=content["reason"],
        options=options_from_json(content["options"]),
        by=asked.person,
    )
    return lambda: {"review": _open(act, content.get("token"))}


def _open(act: Callable[[], Review], token_id: JSONValue) -> int:
    """Open a review, and return its number; a token that has ended meanwhile opens none."""
    with transaction.atomic():
        review = act()
        if isinstance(token_id, int):
            tokens.require_valid(token_id)
    return review.number


def _undo(asked: Asked) -> Act:
    run = ApplyRun.objects.select_related("plan__review", "plan__target__cluster").get(number=asked.content["run"])
    act = revert.prepare_revert(run, by=asked.person, only_lost=bool(asked.content.get("only_lost")))
    return lambda: {"review": act().number}


def _add_cluster(asked: Asked) -> Act:
    act = registration.prepare_upload(**asked.content, kubeconfig=asked.secret, by=asked.person)
    return lambda: {"cluster": act().slug}


def _credential(asked: Asked) -> Act:
    act = lifecycle.prepare_upload(asked.visible_cluster, **asked.content, kubeconfig=asked.secret, by=asked.person)
    return lambda: {"cluster": act().slug}


def _connection(asked: Asked) -> Act:
    found = lifecycle.check_connection(asked.visible_cluster, by=asked.person)
    return lambda: to_json(found)


def _sandbox(asked: Asked) -> Act:
    cluster = cast(Cluster, asked.cluster)  # the sandbox's token decides who may use it, but for its kubeconfig
    content = json.loads(asked.secret)
    if "address" in content:
        text = sandboxes.make_kubeconfig(asked.visible_cluster, address=content["address"], for_user=asked.person)
        return lambda: {"kubeconfig": text}
    if "position" in content:
        parts = content.pop("position")
        position = WatchPosition(*parts) if parts is not None else None
        return lambda: msgspec.to_builtins(sandbox.open_face(cluster).watch(position=position, **content))
    body = b64decode(content.pop("body"))
    return lambda: msgspec.to_builtins(sandbox.open_face(cluster).handle(**content, body=body))


def _secret_access(asked: Asked) -> Act:
    names = [(namespace, name) for namespace, name in asked.content["names"]]
    allowed = live_values.list_allowed(asked.visible_cluster, names, by=asked.person)
    return lambda: [list(name) for name in allowed]


def _git(asked: Asked) -> Act:
    try:
        received = git_sources.fetch_now(msgspec.convert(asked.content, GitSource), by=asked.person)
    except RefusedFilesError as error:
        received = error.received
    return lambda: msgspec.to_builtins(received)


def _git_test(asked: Asked) -> Act:
    content = asked.content
    text = repository_credentials.check_credential(content["credential"], content["repository"], by=asked.person)
    return lambda: {"text": text}


def _api_versions(asked: Asked) -> Act:
    found = charts.read_api_versions(asked.visible_cluster, by=asked.person)
    return lambda: {"versions": list(found)}


def _run_health(asked: Asked) -> Act:
    run = runs.get_run(asked.content["run"], for_user=asked.person)
    found = run_health.read_health(run, for_user=asked.person)
    return lambda: to_json(found)


def _applysets(asked: Asked) -> Act:
    found = applysets.read_applysets(asked.visible_cluster, for_user=asked.person)
    return lambda: to_json(found)


_HANDLERS: dict[WorkerRequestKind, Callable[[Asked], Act]] = {
    WorkerRequestKind.INVENTORY: _inventory,
    WorkerRequestKind.HOLDINGS: _holdings,
    WorkerRequestKind.STATE: _state,
    WorkerRequestKind.SCHEMA: _schema,
    WorkerRequestKind.COMPARE: _compare,
    WorkerRequestKind.ADOPTION: _adoption,
    WorkerRequestKind.ADOPT: _adopt,
    WorkerRequestKind.UNDO: _undo,
    WorkerRequestKind.ADD_CLUSTER: _add_cluster,
    WorkerRequestKind.CREDENTIAL: _credential,
    WorkerRequestKind.CONNECTION: _connection,
    WorkerRequestKind.SECRET_ACCESS: _secret_access,
    WorkerRequestKind.SANDBOX: _sandbox,
    WorkerRequestKind.GIT: _git,
    WorkerRequestKind.GIT_TEST: _git_test,
    WorkerRequestKind.API_VERSIONS: _api_versions,
    WorkerRequestKind.RUN_HEALTH: _run_health,
    WorkerRequestKind.APPLYSETS: _applysets,
}


def prepare(kind: WorkerRequestKind, asked: Asked) -> Act:
    """Read and calculate what a worker request needs; the returned act runs in the caller's transaction.

    - Raises what the use case raises.
    """
    return _HANDLERS[kind](asked)
