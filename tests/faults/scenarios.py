"""Functions of the fork server: create people, a cluster and plans, start and finish runs, and report their history."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import patch

import yaml
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections
from django.utils import timezone

from applyviz.clusters import live
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.records import triggers
from applyviz.records.enums import Role, RunState
from applyviz.records.fields import seal_for
from applyviz.records.models import ApplyRun, Approval, AuditEntry, Cluster, Plan
from applyviz.records.sealing import Unsealed
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.audit import trail
from applyviz.workflow.clusters import registration
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.plans import planner, reviews
from applyviz.workflow.plans.source_runs import parsed_sources
from tests.builders import make_person, open_dangers
from tests.faults import mutants
from tests.faults.apiserver import TOKEN
from tests.faults.gathering import gather
from tests.faults.history import History
from tests.faults.hosts import (  # those that the forge is asked for by name
    at_another_time,
    find_waiting,
    find_waiting_in,
    is_planned,
    lose_the_disk,
    make_newer,
    plan_and_listen,
    read_lease,
    work_and_listen,
)
from tests.model.world import read_files_here

__all__ = [
    "find_waiting",
    "find_waiting_in",
    "is_planned",
    "make_newer",
    "plan_and_listen",
    "read_lease",
    "work_and_listen",
]
ROLES = {"alice": (Role.AUTHOR,), "bob": (Role.APPROVER,), "dora": (Role.AUTHOR, Role.APPROVER)}


def set_up(server: str) -> None:
    """The tables, the people, and the cluster behind an address."""
    call_command("migrate", verbosity=0, interactive=False)
    for name, roles in ROLES.items():
        make_person(name, *roles)
    add_cluster("box", server)


def add_cluster(slug: str, server: str) -> None:
    """A live cluster at an address."""
    credential = {"form": "uploaded", "credential": {"server": server, "token": TOKEN}}
    registration.add_live_cluster(slug=slug, name=slug, credential=credential, server=server)


def config_map(name: str, namespace: str = "default", **data: str) -> str:
    """A ConfigMap as YAML."""
    metadata = {"name": name, "namespace": namespace}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def plan(*, texts: list[str], cluster: str = "box", is_client: bool = False, by: str = "alice", **options: Any) -> int:
    """A finished plan; its id."""
    review = reviews.create_review(
        by=User.objects.get(username=by),
        title="Change",
        reason="",
        ticket="",
        cluster=Cluster.objects.get(slug=cluster),
        options=ApplyOptions(mode=ApplyMode.CLIENT if is_client else ApplyMode.SERVER, **options),
        bundle=SourceBundle(tuple(BundledFile(f"{n}.yaml", text.encode()) for n, text in enumerate(texts))),
    )
    made = review.plans.get()
    with patch.object(parsed_sources, "read_files", read_files_here):  # planning is not what is tried; it may be quick
        planner.make_plan(made.pk)
    deadline = time.monotonic() + 60
    while Plan.objects.get(pk=made.pk).state == "planning":  # a worker of the installation was quicker to take it
        assert time.monotonic() < deadline, "the plan is not made"
        time.sleep(0.05)
    made.refresh_from_db()
    assert made.state == "complete", made.error
    return int(made.pk)


def make_plan(*, plan_id: int, failpoint: str = "") -> None:
    """A worker makes a plan; whoever had it before is lost."""
    if failpoint:
        os.environ["APPLYVIZ_FAILPOINT"] = failpoint
    Plan.objects.filter(pk=plan_id, state="planning").update(lease_until=None)
    planner.make_plan(plan_id)


def start(*, plan_id: int, by: str = "bob", plant: str = "", failpoint: str = "", hours: float = 0.0) -> int:
    """Somebody approves and starts; the id of the run."""
    if failpoint:
        os.environ["APPLYVIZ_FAILPOINT"] = failpoint
    with mutants.planted(plant), at_another_time(hours):
        chosen = Plan.objects.get(pk=plan_id)
        person = User.objects.get(username=by)
        open_dangers(chosen, person)
        run = runs.approve_and_run(chosen, by=person, digest=chosen.digest)
    return int(run.pk)


def approve(*, plan_id: int) -> None:
    """Bob approves; nothing is started."""
    chosen, bob = Plan.objects.get(pk=plan_id), User.objects.get(username="bob")
    open_dangers(chosen, bob)
    approving.approve_plan(chosen, by=bob, digest=chosen.digest)


def approve_and_revoke(*, plan_id: int) -> None:
    """Bob approves, and thinks better of it."""
    chosen, bob = Plan.objects.get(pk=plan_id), User.objects.get(username="bob")
    open_dangers(chosen, bob)
    approving.revoke_approval(approving.approve_plan(chosen, by=bob, digest=chosen.digest), by=bob)


def start_without_asking(*, plan_id: int, plant: str) -> int:
    """Bob starts a plan that he does not approve; the id of the run."""
    with mutants.planted(plant):
        chosen = Plan.objects.get(pk=plan_id)
        return int(runs.start_run(chosen, by=User.objects.get(username="bob"), digest=chosen.digest).pk)


def restore_history() -> None:
    """Put back what was planted into the history."""
    entry = AuditEntry.objects.get(actor_name="nobody")
    AuditEntry.objects.filter(pk=entry.pk).update(
        actor_name=entry.actor.get_username() if entry.actor else trail.SYSTEM
    )
    triggers.install("default")


def retry(*, run_id: int, failpoint: str = "") -> None:
    """Bob retries what can be retried of a failed run."""
    if failpoint:
        os.environ["APPLYVIZ_FAILPOINT"] = failpoint
    bob, failed = User.objects.get(username="bob"), ApplyRun.objects.get(pk=run_id)
    runs.retry_run(runs.get_run(failed.number, for_user=bob), by=bob, attempt=failed.attempt)


def count_attempts(*, run_id: int) -> int:
    """How many further attempts a run had."""
    return ApplyRun.objects.get(pk=run_id).attempts.count()


def edit(*, plan_id: int, texts: list[str]) -> None:
    """Alice asks for the next plan, of other manifests."""
    files = tuple(BundledFile(f"{n}.yaml", text.encode()) for n, text in enumerate(texts))
    review = Plan.objects.get(pk=plan_id).review
    reviews.replan_review(review, by=User.objects.get(username="alice"), bundle=SourceBundle(files))


def count_later(*, plan_id: int) -> int:
    """How many plans of the same review came after a plan."""
    chosen = Plan.objects.get(pk=plan_id)
    return Plan.objects.filter(review=chosen.review_id, number__gt=chosen.number).count()


def stage(*, texts: list[str], **options: Any) -> int:
    """A run that waits for a worker."""
    return start(plan_id=plan(texts=texts, **options))


def work(
    *,
    run_id: int,
    failpoint: str = "",
    plant: str = "",
    database: str = "",
    patience: float = 0.0,
    hours: float = 0.0,
) -> None:
    """A worker carries the run out; pauses are short.

    - `patience`: how long it waits for an answer, in seconds; `hours`: by how much its clock is ahead.
    """
    if failpoint:
        os.environ["APPLYVIZ_FAILPOINT"] = failpoint
    if database:
        host, _, port = database.partition(":")
        connections["default"].settings_dict.update(HOST=host, PORT=port)
    hurried = (
        patch.object(live, "RequestLimits", partial(live.RequestLimits, total=patience)) if patience else nullcontext()
    )
    with mutants.planted(plant), hurried, at_another_time(hours):
        runs.execute_run(run_id, sleep=lambda seconds: time.sleep(min(seconds, 0.02)))
    connections.close_all()


def work_unread(*, run_id: int) -> None:
    """A worker that logs every step into a pipe which is full, and which nobody reads."""
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writes, b"x" * 4096)
    for descriptor in (1, 2):
        os.dup2(writes, descriptor)
    for name in ("", "applyviz", "django.db.backends", "urllib3"):
        logging.getLogger(name or None).setLevel(logging.DEBUG)
    with patch.object(failpoints, "hooks", [lambda name: logging.getLogger("applyviz").info("reached %s", name)]):
        work(run_id=run_id)
    assert len(os.read(reads, 1 << 16)) == 4096


def work_without_disk(*, run_id: int) -> None:
    """A worker whose disk is full."""
    lose_the_disk()
    work(run_id=run_id)


def reconnect() -> None:
    """The database was away: forget the connection to it."""
    connections.close_all()


_REFUSE = """
    CREATE OR REPLACE FUNCTION refuse_entry() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_ARGV[1] = '' OR NEW.action = TG_ARGV[1] THEN
            RAISE EXCEPTION 'refused by a test' USING ERRCODE = TG_ARGV[0];
        END IF;
        RETURN NEW;
    END $$
"""


def refuse_audit(*, state: str, action: str = "") -> None:
    """Let the database refuse audit entries (of one action) with a SQLSTATE, as it does when its disk is full."""
    with connections["default"].cursor() as cursor:
        cursor.execute("DROP TRIGGER IF EXISTS refuse_entry ON records_auditentry")
        if state:
            cursor.execute(_REFUSE)
            cursor.execute(
                "CREATE TRIGGER refuse_entry BEFORE INSERT ON records_auditentry FOR EACH ROW "
                f"EXECUTE FUNCTION refuse_entry('{state}', '{action}')"
            )


def swap_credential(*, server: str) -> None:
    """Somebody puts the credential of another cluster into the row of the cluster."""
    credential = {"form": "uploaded", "credential": {"server": server, "token": TOKEN}}
    sealed = seal_for(Cluster(slug="box"), "credential", Unsealed.of_json(credential))
    Cluster.objects.filter(slug="box").update(credential=sealed, server=server)


def count_runs(*, plan_id: int) -> tuple[int, int]:
    """How many runs a plan has, and how many of its approvals are spent."""
    spent = Approval.objects.filter(plan_id=plan_id).exclude(spent_at=None)
    return ApplyRun.objects.filter(plan_id=plan_id).count(), spent.count()


def set_active(*, name: str, is_active: bool) -> None:
    """Somebody's account is closed, or opened again."""
    User.objects.filter(username=name).update(is_active=is_active)


def let_leases_run_out() -> None:
    """Time passes until nobody owns a run any more."""
    ApplyRun.objects.filter(state=RunState.APPLYING).update(lease_until=timezone.now() - timedelta(seconds=1))


def finish(*, run_id: int) -> str:
    """Other workers take the run up until it has ended; its state."""
    for _ in range(4):
        let_leases_run_out()
        work(run_id=run_id)
        if ApplyRun.objects.get(pk=run_id).state not in RunState.unfinished():
            break
    return str(ApplyRun.objects.get(pk=run_id).state)


def ask_for_plans(*, bundles: list[list[str]]) -> list[int]:
    """A review of Alice's for each list of manifests; workers make the plans. Their ids."""
    alice, box = User.objects.get(username="alice"), Cluster.objects.get(slug="box")
    found = []
    for texts in bundles:
        files = tuple(BundledFile(f"{n}.yaml", text.encode()) for n, text in enumerate(texts))
        review = reviews.create_review(
            by=alice,
            title="Load",
            reason="",
            ticket="",
            cluster=box,
            options=ApplyOptions(),
            bundle=SourceBundle(files),
        )
        found.append(int(review.plans.get().pk))
    return found


def count_unplanned() -> int:
    """How many plans are being made."""
    return Plan.objects.filter(state="planning").count()


def start_all(*, plan_ids: list[int]) -> list[int]:
    """Bob approves and starts them all."""
    return [start(plan_id=plan_id) for plan_id in plan_ids]


def read_times(*, run_id: int) -> tuple[float, float]:
    """When a run was taken up and when it ended."""
    run = ApplyRun.objects.get(pk=run_id)
    return run.started_at.timestamp(), run.finished_at.timestamp()


def list_states(*, run_ids: list[int]) -> list[str]:
    """Where these runs stand."""
    states = dict(ApplyRun.objects.filter(pk__in=run_ids).values_list("pk", "state"))
    return [states[run_id] for run_id in run_ids]


def list_all_runs() -> list[int]:
    """Every run there is."""
    return list(ApplyRun.objects.order_by("pk").values_list("pk", flat=True))


def find_run(*, plan_id: int) -> int:
    """The run of a plan."""
    return int(ApplyRun.objects.get(plan_id=plan_id).pk)


def cancel(*, run_id: int) -> None:
    """Bob asks the run to stop."""
    runs.cancel_run(ApplyRun.objects.get(pk=run_id), by=User.objects.get(username="bob"))


def tell(*, run_ids: list[int], is_settled: bool = True) -> History:
    """The history of runs, but for what servers saw."""
    return gather((), runs=run_ids, is_settled=is_settled)
