"""Who is there, and the model's own book: who consents to what, who objects, which runs were started on it.

The book is kept beside the product and never reads its approvals; each write is held against it when it is sent. At
the end of each story the history checker judges the whole.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import yaml
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis.stateful import RuleBasedStateMachine

from applyviz.records.enums import Role
from applyviz.records.models import ApplyRun, Cluster, Plan
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow import policies
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.plans import changes
from tests.faults.checker import find_violations
from tests.faults.comparing import fits_template
from tests.faults.gathering import gather, render_template
from tests.faults.history import Exchange
from tests.model.world import NO_FAULT, World

NAMES = ("a", "b", "c")
EVERYBODY = ("alice", "bob", "carl", "dora", "dodo", "erin")
ROLES = {
    "alice": (Role.AUTHOR,),
    "bob": (Role.APPROVER,),
    "carl": (Role.APPROVER,),
    "dora": (Role.AUTHOR, Role.APPROVER),
    "dodo": (Role.APPROVER,),
    "erin": (Role.VIEWER,),
}
# Two accounts of one human.
HUMANS = {"dodo": "dora"}


class Killed(BaseException):
    """The worker dies here; nothing catches it."""


class UnapprovedError(AssertionError):
    """Writes were sent that nobody approved like that; a worker would take it for a fault of its own."""


@dataclass
class Agreed:
    """The model's own book about what one digest does: its templates, who consents until when, who objects."""

    templates: list[str] = field(default_factory=list)
    people: dict[str, float] = field(default_factory=dict)
    change_requests: set[str] = field(default_factory=set)


def manifest(name: str, data: dict[str, str]) -> bytes:
    """A ConfigMap as YAML."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    return yaml.safe_dump(body).encode()


def bundle_of(given: dict[str, dict[str, str]]) -> SourceBundle:
    """One file per object."""
    return SourceBundle(tuple(BundledFile(f"{name}.yaml", manifest(name, data)) for name, data in given.items()))


class Team(RuleBasedStateMachine):
    """One story of a team; `world`, `people`, `clock` and `cluster` are given before the first begins."""

    world: World
    people: dict[str, User]
    clock: Any
    cluster: Cluster
    seen: Counter[str] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self._undo = transaction.savepoint()
        self.world.begin_anew()
        self.world.on_write = self.judge
        self.book: dict[tuple[int, str], Agreed] = {}
        self.started: dict[int, tuple[Plan, frozenset[str]]] = {}
        self.hands_off: dict[int, set[str]] = {}
        self.unapproved: list[str] = []
        self.quorums: dict[int, int] = {}
        self.weak, self.weak_may, self.needed = "erin", True, 1
        failpoints.hooks.clear()

    def teardown(self) -> None:
        try:
            self.world.fault = NO_FAULT
            failpoints.hooks.clear()
            history = gather(self.world.exchanges, is_settled=False, quorums=self.quorums)
            Team.seen["writes"] += sum(e.is_write for e in history.exchanges)
            Team.seen["effective writes"] += sum(e.is_effective for e in history.exchanges)
            Team.seen["runs"] += len(history.runs)
            Team.seen.update(f"runs {run.state}" for run in history.runs)
            found = find_violations(history)
            assert not found, "\n".join(map(str, found))
        finally:
            transaction.savepoint_rollback(self._undo)

    # The model's book ------------------------------------------------------------------------------

    def judge(self, seen: Exchange) -> None:
        """Compare a write with the approvals of the model; violations are reported when the worker has finished."""
        for plan, people in self.started.values():
            book = self._book(plan)
            if any(fits_template(seen.sent, json.loads(text)) for text in book.templates):
                if people & self.hands_off[plan.pk]:
                    self.unapproved.append(f"{seen.method} {seen.path}: approved by somebody who took part")
                return
        self.unapproved.append(f"{seen.method} {seen.path} was sent, and no started plan holds it")

    def _note_parts(self, plan: Plan) -> None:
        """Who took part in a plan: its author, who asked for it, and all before it in the review."""
        review = plan.review
        taking_part = {review.author.username} | {p.requested_by.username for p in review.plans.all()}
        taking_part |= {d.by.username for d in review.decisions.select_related("by")}
        self.hands_off[plan.pk] = {HUMANS.get(name, name) for name in taking_part}

    def _book(self, plan: Plan) -> Agreed:
        return self.book.setdefault((plan.review_id, plan.digest), Agreed())

    def _note_approval(self, plan: Plan, by: str) -> None:
        book = self._book(plan)
        lasts = policies.find_policy(plan).approval_lasts
        book.people[HUMANS.get(by, by)] = time.time() + lasts.total_seconds() if lasts else float("inf")
        book.templates = [
            json.dumps(render_template(request))
            for row in plan.changes.all()
            for request in changes.open_sealed(row).requests
            if request.is_write
        ]

    def _note_start(self, run: ApplyRun) -> None:
        plan = run.plan
        self._note_parts(plan)
        book = self._book(plan)
        people = frozenset(name for name, until in book.people.items() if until > time.time() - 1)
        able = {name for name in people if self._may_approve(name)} - self.hands_off[plan.pk]
        assert len(able) >= self.needed, f"{run} was started on {sorted(people)}, {self.needed} are needed"
        assert not {name for name in book.change_requests if self._may_approve(name)}, "somebody asks for changes"
        assert plan.policy_version == policies.find_policy(plan).version, "another policy than the plan was made under"
        assert plan.pk not in {p.pk for p, _ in self.started.values()}, "one plan was started twice"
        self.started[run.pk], self.quorums[run.pk] = (plan, frozenset(able)), self.needed
        book.people = {}

    def _may_approve(self, human: str) -> bool:
        accounts = [name for name in EVERYBODY if HUMANS.get(name, name) == human and Role.APPROVER in ROLES[name]]
        return any(name != self.weak or self.weak_may for name in accounts)

    # Picking ---------------------------------------------------------------------------------------

    def _pick(self, model: Any, number: int, **chosen: Any) -> Any:
        found = list(model.objects.filter(**chosen).order_by("-pk")[:4])
        return found[number % len(found)] if found else None

    def _person(self, name: str) -> User:
        return User.objects.get(username=name)

    def _try(self, what: str, action: Any) -> Any:
        """Do it as people do: a refusal is an answer."""
        Team.seen["steps"] += 1
        try:
            result = action()
        except WorkflowError as refusal:
            Team.seen[f"{what}, refused" if str(refusal) else f"{what}, refused without a word"] += 1
            return None
        Team.seen[what] += 1
        return result
