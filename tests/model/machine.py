"""People, reviews, plans, approvals, runs and a cluster that others change: every step is one of theirs.

The model keeps its own book of who approved what, and looks at each write when it is sent: it must be a template
of a plan that enough others approved, word for word, by people whose consent stood when the run was started. At the
end of each story the history checker judges the whole.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import yaml
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.records.enums import PlanState, Role
from applyviz.records.models import ApplyRun, Approval, Cluster, Plan, Review
from applyviz.sources.bundle import SourceBundle, SourceFile
from applyviz.workflow import approvals, changes, failpoints, plans, reviews, runs
from applyviz.workflow.errors import WorkflowError
from tests.faults.checker import find_violations, fits_template
from tests.faults.gathering import gather, render_template
from tests.faults.history import Exchange
from tests.model.world import NO_FAULT, World

NAMES = ("a", "b", "c")
WRITERS, APPROVERS = ("alice", "dora"), ("bob", "carl", "dora")
EVERYBODY = ("alice", "bob", "carl", "dora", "erin")
# Mostly those who may, sometimes those who may not.
writers = st.sampled_from(("alice", "alice", "alice", "dora", "bob"))
approvers = st.sampled_from(("bob", "bob", "carl", "carl", "dora", "alice"))
ROLES = {
    "alice": (Role.AUTHOR,),
    "bob": (Role.APPROVER,),
    "carl": (Role.APPROVER,),
    "dora": (Role.AUTHOR, Role.APPROVER),
    "erin": (Role.VIEWER,),
}
POINTS = (
    "run.checked",
    "run.object",
    "run.intended",
    "run.answered",
    "run.recorded",
    "run.concluding",
    "run.concluded",
    "run.finishing",
)
FAULTS = ("", "", "", "lose answer", "lose request", "refuse connection")
values = st.sampled_from(("1", "2", "3"))
texts = st.dictionaries(st.sampled_from(NAMES), st.dictionaries(st.sampled_from("xyz"), values, max_size=2), min_size=1)
choice = st.integers(0, 7)


class Killed(BaseException):
    """The worker dies here; nothing catches it."""


class UnapprovedError(AssertionError):
    """The model saw a write that nobody approved like that."""


@dataclass
class Agreed:
    """The model's own book about one plan: its templates as they were approved, and who consents."""

    templates: list[str] = field(default_factory=list)
    people: dict[str, int] = field(default_factory=dict)


def manifest(name: str, data: dict[str, str]) -> bytes:
    """A ConfigMap as YAML."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    return yaml.safe_dump(body).encode()


def bundle_of(given: dict[str, dict[str, str]]) -> SourceBundle:
    """One file per object."""
    return SourceBundle(tuple(SourceFile(f"{name}.yaml", manifest(name, data)) for name, data in given.items()))


class Story(RuleBasedStateMachine):
    """One story of a team; `world`, `people` and `cluster` are given before the first begins."""

    world: World
    people: dict[str, User]
    cluster: Cluster
    seen: Counter[str] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self._undo = transaction.savepoint()
        self.world.begin_anew()
        self.world.on_write = self.judge
        self.book: dict[int, Agreed] = {}
        self.started: dict[int, tuple[int, frozenset[str]]] = {}
        self.hands_off: dict[int, set[str]] = {}
        self.quorums: dict[int, int] = {}
        self.weak = "erin"
        failpoints.hooks.clear()

    def teardown(self) -> None:
        try:
            self.world.fault = NO_FAULT
            failpoints.hooks.clear()
            history = gather(self.world.exchanges, is_settled=False, quorums=self.quorums)
            Story.seen["writes"] += sum(e.is_write for e in history.exchanges)
            Story.seen["effective writes"] += sum(e.is_effective for e in history.exchanges)
            Story.seen["runs"] += len(history.runs)
            Story.seen.update(f"runs {run.state}" for run in history.runs)
            found = find_violations(history)
            assert not found, "\n".join(map(str, found))
        finally:
            transaction.savepoint_rollback(self._undo)

    # The model's book ------------------------------------------------------------------------------

    def judge(self, seen: Exchange) -> None:
        """A write arrives: is it what was agreed?"""
        for plan_id, people in self.started.values():
            book = self.book[plan_id]
            if any(fits_template(seen.sent, json.loads(text)) for text in book.templates):
                if people & self.hands_off[plan_id]:
                    raise UnapprovedError(f"{seen.method} {seen.path}: approved by somebody who took part")
                return
        raise UnapprovedError(f"{seen.method} {seen.path} was sent, and no started plan holds it")

    def _note_parts(self, plan: Plan) -> None:
        """Who took part in a plan: its author, who asked for it, and all before it in the review."""
        review = plan.review
        taking_part = {review.author.username} | {p.requested_by.username for p in review.plans.all()}
        taking_part |= {d.by.username for d in review.decisions.select_related("by")}
        self.hands_off[plan.pk] = taking_part

    def _note_approval(self, plan: Plan, by: str, approval: int) -> None:
        book = self.book.setdefault(plan.pk, Agreed())
        book.people[by] = approval
        book.templates = [
            json.dumps(render_template(request))
            for row in plan.changes.all()
            for request in changes.open_sealed(row).requests
            if request.is_write
        ]

    def _note_start(self, run: ApplyRun) -> None:
        plan = run.plan
        self._note_parts(plan)
        people = frozenset(self.book[plan.pk].people) if plan.pk in self.book else frozenset()
        needed = Cluster.objects.get(pk=self.cluster.pk).approvals_needed
        able = {name for name in people if self._can(name, Role.APPROVER)}
        assert len(able) >= needed, f"{run} was started on {sorted(people)}, {needed} are needed"
        assert plan.pk not in {p for p, _ in self.started.values()}, "one plan was started twice"
        self.started[run.pk], self.quorums[run.pk] = (plan.pk, people), needed
        self.book[plan.pk].people = {}

    def _can(self, name: str, role: Role) -> bool:
        person = User.objects.get(username=name)
        return person.is_active and person.groups.filter(name=role.value).exists()

    # Picking ---------------------------------------------------------------------------------------

    def _pick(self, model: Any, number: int, **chosen: Any) -> Any:
        found = list(model.objects.filter(**chosen).order_by("-pk")[:4])
        return found[number % len(found)] if found else None

    def _person(self, name: str) -> User:
        return User.objects.get(username=name)

    def _try(self, what: str, action: Any) -> Any:
        """Do it as people do: a refusal is an answer."""
        Story.seen["steps"] += 1
        try:
            result = action()
        except WorkflowError as refusal:
            Story.seen[f"{what}, refused" if str(refusal) else f"{what}, refused without a word"] += 1
            return None
        Story.seen[what] += 1
        return result

    # Reviews and plans -----------------------------------------------------------------------------

    @rule(by=writers, given=texts, is_client=st.booleans(), is_made=st.booleans())
    def open_review(self, by: str, given: dict[str, dict[str, str]], is_client: bool, is_made: bool) -> None:
        options = ApplyOptions(mode=ApplyMode.CLIENT if is_client else ApplyMode.SERVER)
        review = self._try(
            "review",
            lambda: reviews.create_review(
                by=self._person(by),
                title="Change",
                reason="",
                ticket="",
                cluster=self.cluster,
                options=options,
                bundle=bundle_of(given),
            ),
        )
        if review is not None and is_made:
            plans.make_plan(review.plans.get().pk)

    @rule(number=choice)
    def finish_plan(self, number: int) -> None:
        plan = self._pick(Plan, number, state=PlanState.PLANNING)
        self._try("plan", lambda: plan and plans.make_plan(plan.pk))

    @rule(number=choice, by=writers, given=st.none() | texts, is_made=st.booleans())
    def edit_or_replan(self, number: int, by: str, given: dict[str, dict[str, str]] | None, is_made: bool) -> None:
        review = self._pick(Review, number)
        if review is None:
            return
        bundle = bundle_of(given) if given else None
        plan = self._try("re-plan", lambda: reviews.replan_review(review, by=self._person(by), bundle=bundle))
        if plan is not None and is_made:
            plans.make_plan(plan.pk)

    @rule(number=choice, by=writers)
    def take_over(self, number: int, by: str) -> None:
        review = self._pick(Review, number)
        if review is not None:
            plan = self._try("decision", lambda: reviews.take_over_conflicts(review, by=self._person(by)))
            if plan is not None:
                plans.make_plan(plan.pk)

    @rule(number=choice, by=writers)
    def close(self, number: int, by: str) -> None:
        review = self._pick(Review, number)
        if review is not None and number == 0:
            self._try("close", lambda: reviews.close_review(review, by=self._person(by)))

    # Agreeing --------------------------------------------------------------------------------------

    @rule(number=choice, by=approvers, is_other=st.integers(0, 5))
    def approve(self, number: int, by: str, is_other: int) -> None:
        plan = self._pick(Plan, number)
        if plan is None:
            return
        other = self._pick(Plan, number + 1)
        digest = other.digest if is_other == 5 else plan.digest
        self._note_parts(plan)
        given = self._try("approval", lambda: approvals.approve_plan(plan, by=self._person(by), digest=digest))
        if given is not None:
            assert digest == plan.digest
            assert by not in self.hands_off[plan.pk], f"{by} took part in plan {plan.number} and approved it"
            self._note_approval(plan, by, given.pk)

    @rule(number=choice, by=approvers)
    def revoke(self, number: int, by: str) -> None:
        approval = self._pick(Approval, number)
        if approval is None:
            return

        def act() -> bool:
            approvals.revoke_approval(approval, by=self._person(by))
            return True

        if self._try("revocation", act):
            self.book[approval.plan_id].people.pop(approval.by_name, None)

    @rule(number=choice, by=approvers, times=st.integers(1, 2), is_other=st.integers(0, 5))
    def start(self, number: int, by: str, times: int, is_other: int) -> None:
        plan = self._pick(Plan, number)
        if plan is None:
            return
        other = self._pick(Plan, number + 1)
        digest = other.digest if is_other == 5 else plan.digest
        for _ in range(times):
            run = self._try("start", lambda: runs.start_run(plan, by=self._person(by), digest=digest))
            if run is not None:
                self._note_start(run)

    @rule(
        by=writers,
        first=approvers,
        second=approvers,
        given=texts,
        is_client=st.booleans(),
        then=st.sampled_from(("wait", "work", "work", "live", "die", "lose answer", "another worker")),
        point=st.sampled_from(POINTS),
    )
    def bring_to_a_run(
        self, by: str, first: str, second: str, given: dict[str, Any], is_client: bool, then: str, point: str
    ) -> None:
        """From manifests to a run, when nothing stands in the way; and on, as long as nothing does."""
        count = ApplyRun.objects.count()
        self.open_review(by=by, given=given, is_client=is_client, is_made=True)
        for person in (first, second):
            self.approve(number=0, by=person, is_other=0)
        self.start(number=0, by=second, times=1, is_other=0)
        if ApplyRun.objects.count() == count or then == "wait":
            return
        if then == "work":
            self.work_undisturbed(number=0)
        elif then == "lose answer":
            self.work(number=0, point=None, nth=1, interruption="die", fault=then, name="a", value="1")
        else:
            self.work(number=0, point=point, nth=1, interruption=then, fault="", name="a", value="1")
            self.let_leases_run_out()
            self.work_undisturbed(number=0)

    @rule(number=choice, by=approvers, is_worked=st.booleans())
    def approve_and_run(self, number: int, by: str, is_worked: bool) -> None:
        plan = self._pick(Plan, number, state=PlanState.COMPLETE)
        if plan is None:
            return
        self._note_parts(plan)
        with_own = plan.approvals.filter(by__username=by, revoked_at=None, spent_at=None).exists()
        run = self._try("confirm", lambda: runs.approve_and_run(plan, by=self._person(by), digest=plan.digest))
        if run is not None:
            assert with_own or by not in self.hands_off[plan.pk], f"{by} took part and approved"
            self._note_approval(plan, by, 0)
            self._note_start(run)
            if is_worked:
                runs.execute_run(run.pk, sleep=lambda seconds: None)

    # Running ---------------------------------------------------------------------------------------

    @rule(number=choice)
    def work_undisturbed(self, number: int) -> None:
        run = self._pick(ApplyRun, number, state__in=("queued", "running"))
        if run is not None:
            self._execute(run)

    @rule(
        number=choice,
        point=st.none() | st.sampled_from(POINTS),
        nth=st.integers(1, 2),
        interruption=st.sampled_from(("die", "die", "live", "cancel", "rights", "another worker")),
        fault=st.sampled_from(FAULTS),
        name=st.sampled_from(NAMES),
        value=values,
    )
    def work(
        self, number: int, point: str | None, nth: int, interruption: str, fault: str, name: str, value: str
    ) -> None:
        run = self._pick(ApplyRun, number, state__in=("queued", "running"))
        if run is None:
            return
        writes = sum(e.is_write for e in self.world.exchanges)
        self.world.fault = lambda request, count: fault if count == writes + nth else ""
        if point is not None:
            self._arm(run, point, nth, interruption, name, value)
        self._execute(run)
        self.world.fault = NO_FAULT
        failpoints.hooks.clear()

    def _execute(self, run: ApplyRun) -> None:
        Story.seen["steps"] += 1
        Story.seen["work"] += 1
        try:
            runs.execute_run(run.pk, sleep=lambda seconds: None)
        except Killed:
            Story.seen["worker killed"] += 1

    def _arm(self, run: ApplyRun, point: str, nth: int, interruption: str, name: str, value: str) -> None:
        reached: list[str] = []

        def hook(where: str) -> None:
            if where != point:
                return
            reached.append(where)
            if len(reached) == nth:
                Story.seen[f"{interruption} at {point}"] += 1
                self._interrupt(run, interruption, name, value)

        failpoints.hooks.append(hook)

    def _interrupt(self, run: ApplyRun, interruption: str, name: str, value: str) -> None:
        match interruption:
            case "die":
                raise Killed
            case "live":
                self.world.edit(name, {"data": {"x": value}})
            case "cancel":
                self._try("cancel", lambda: runs.cancel_run(run, by=self._person("bob")))
            case "rights":
                self.change_rights(by="bob", is_active=True, has_roles=False)
            case "another worker":
                failpoints.hooks.clear()
                self.let_leases_run_out()
                self._execute(run)

    @rule()
    def let_leases_run_out(self) -> None:
        past = timezone.now() - timedelta(seconds=1)
        ApplyRun.objects.filter(state="running").update(lease_until=past)
        Story.seen["steps"] += 1

    @rule(number=choice, by=approvers)
    def cancel(self, number: int, by: str) -> None:
        run = self._pick(ApplyRun, number)
        if run is not None:
            self._try("cancel", lambda: runs.cancel_run(run, by=self._person(by)))

    # What others do --------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NAMES), kind=st.sampled_from(("data", "labels", "own", "delete", "anew")), value=values)
    def change_live(self, name: str, kind: str, value: str) -> None:
        Story.seen["steps"] += 1
        Story.seen[f"live {kind}"] += 1
        if kind in ("delete", "anew"):
            self.world.delete(name)
        if kind == "data":
            self.world.edit(name, {"data": {"y": value}})
        elif kind == "labels":
            self.world.edit(name, {"metadata": {"labels": {"team": value}}})
        elif kind != "delete":
            self.world.apply_as("somebody", name, {"x": value})

    @rule(by=st.sampled_from(EVERYBODY), is_active=st.booleans(), has_roles=st.booleans())
    def change_rights(self, by: str, is_active: bool, has_roles: bool) -> None:
        Story.seen["steps"] += 1
        Story.seen["rights"] += 1
        if by != self.weak:
            previous, self.weak = self.weak, by
            self._set_rights(previous, is_active=True, has_roles=True)
        self._set_rights(by, is_active=is_active, has_roles=has_roles)

    def _set_rights(self, by: str, *, is_active: bool, has_roles: bool) -> None:
        person = self._person(by)
        User.objects.filter(pk=person.pk).update(is_active=is_active)
        wanted = ROLES[by] if has_roles else ()
        person.groups.set(Group.objects.filter(name__in=[role.value for role in wanted]))

    @rule(needed=st.integers(1, 2))
    def change_policy(self, needed: int) -> None:
        Story.seen["steps"] += 1
        Story.seen["policy"] += 1
        Cluster.objects.filter(pk=self.cluster.pk).update(approvals_needed=needed)
