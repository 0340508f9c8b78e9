"""Every rule is one step of somebody: of people, of a worker that may die, of others who change the cluster.

Rules ask the product's use cases as pages do; a refusal is an answer. Most steps are such as people take, some are
such as they must not be able to take.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import rule

from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.records.enums import PlanState
from applyviz.records.models import ApplyRun, Approval, Plan, Review
from applyviz.workflow import runs
from applyviz.workflow.approvals import approving
from applyviz.workflow.foundation import failpoints
from applyviz.workflow.plans import planner, reviews
from tests.builders import grant_role, make_policy, open_dangers, overwrite_conflicts, take_roles
from tests.model.team import EVERYBODY, HUMANS, NAMES, ROLES, Killed, Team, UnapprovedError, bundle_of
from tests.model.world import NO_FAULT

# Mostly those who may, sometimes those who may not.
writers = st.sampled_from(("alice", "alice", "alice", "dora", "bob"))
approvers = st.sampled_from(("bob", "bob", "carl", "carl", "dora", "dodo", "alice"))
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
texts = st.dictionaries(st.sampled_from(NAMES), st.dictionaries(st.sampled_from("xwz"), values, max_size=2), min_size=1)
choice = st.integers(0, 7)


class Story(Team):
    """One story of a team; every rule is one step of somebody."""

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
            planner.make_plan(review.plans.get().pk)

    @rule(number=choice)
    def finish_plan(self, number: int) -> None:
        plan = self._pick(Plan, number, state=PlanState.PLANNING)
        self._try("plan", lambda: plan and planner.make_plan(plan.pk))

    @rule(number=choice, by=writers, given=st.none() | texts, is_made=st.booleans())
    def edit_or_replan(self, number: int, by: str, given: dict[str, dict[str, str]] | None, is_made: bool) -> None:
        review = self._pick(Review, number)
        if review is None:
            return
        bundle = bundle_of(given) if given else None
        plan = self._try("re-plan", lambda: reviews.replan_review(review, by=self._person(by), bundle=bundle))
        if plan is not None and is_made:
            planner.make_plan(plan.pk)

    @rule(number=choice, by=writers)
    def take_over(self, number: int, by: str) -> None:
        review = self._pick(Review, number)
        if review is not None:
            plan = self._try("decision", lambda: overwrite_conflicts(review, by=self._person(by)))
            if plan is not None:
                planner.make_plan(plan.pk)

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
        open_dangers(plan, self._person(by))
        given = self._try("approval", lambda: approving.approve_plan(plan, by=self._person(by), digest=digest))
        if given is not None:
            assert digest == plan.digest
            assert HUMANS.get(by, by) not in self.hands_off[plan.pk], f"{by} took part and approved"
            self._note_approval(plan, by)

    @rule(number=choice, by=approvers)
    def revoke(self, number: int, by: str) -> None:
        approval = self._pick(Approval, number)
        if approval is None:
            return

        def act() -> bool:
            approving.revoke_approval(approval, by=self._person(by))
            return True

        if self._try("revocation", act):
            self._book(approval.plan).people.pop(HUMANS.get(approval.by_name, approval.by_name), None)

    @rule(number=choice, by=approvers, is_withdrawn=st.booleans())
    def ask_for_changes(self, number: int, by: str, is_withdrawn: bool) -> None:
        plan = self._pick(Plan, number)
        if plan is None:
            return
        person, human = self._person(by), HUMANS.get(by, by)
        ask = partial(approving.request_changes, plan, by=person, digest=plan.digest, note="not like this")
        change_request = self._try("request for changes", ask)
        if change_request is None:
            return
        self._book(plan).change_requests.add(human)
        self._book(plan).people.pop(human, None)
        if is_withdrawn and self._try(
            "withdrawal", lambda: approving.withdraw_request(change_request, by=person) or True
        ):
            self._book(plan).change_requests.discard(human)

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
        before = dict(self._book(plan).people)
        self._note_approval(plan, by)
        run = self._try("confirm", lambda: runs.approve_and_run(plan, by=self._person(by), digest=plan.digest))
        if run is None:
            self._book(plan).people = before
            return
        self._note_start(run)
        if is_worked:
            self._execute(run)

    # Running ---------------------------------------------------------------------------------------

    @rule(number=choice)
    def work_undisturbed(self, number: int) -> None:
        run = self._pick(ApplyRun, number, state__in=("queued", "applying"))
        if run is not None:
            self._clear_the_way(run)
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
        run = self._pick(ApplyRun, number, state__in=("queued", "applying"))
        if run is None:
            return
        self._clear_the_way(run)
        writes = self.world.sent
        self.world.fault = lambda request, count: fault if count == writes + nth else ""
        if point is not None:
            self._arm(run, point, nth, interruption, name, value)
        self._execute(run)
        self.world.fault = NO_FAULT
        failpoints.hooks.clear()

    def _clear_the_way(self, run: ApplyRun) -> None:
        """Runs of the same objects that were confirmed before go first, as the sweep would have it."""
        for _ in range(8):
            before = runs.find_run_before(run)
            if before is None:
                return
            past = timezone.now() - timedelta(seconds=1)
            ApplyRun.objects.filter(pk=before.pk, state="applying").update(lease_until=past)
            self._execute(before)

    def _execute(self, run: ApplyRun) -> None:
        self.seen["steps"] += 1
        self.seen["work"] += 1
        try:
            runs.execute_run(run.pk, sleep=lambda seconds: None)
        except Killed:
            self.seen["worker killed"] += 1
        if self.unapproved:
            raise UnapprovedError("; ".join(self.unapproved))

    def _arm(self, run: ApplyRun, point: str, nth: int, interruption: str, name: str, value: str) -> None:
        reached: list[str] = []

        def hook(where: str) -> None:
            if where != point:
                return
            reached.append(where)
            if len(reached) == nth:
                self.seen[f"{interruption} at {point}"] += 1
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
        ApplyRun.objects.filter(state="applying").update(lease_until=past)
        self.seen["steps"] += 1

    @rule(number=choice, by=approvers)
    def cancel(self, number: int, by: str) -> None:
        run = self._pick(ApplyRun, number)
        if run is not None:
            self._try("cancel", lambda: runs.cancel_run(run, by=self._person(by)))

    # What others do --------------------------------------------------------------------------------

    @rule(name=st.sampled_from(NAMES), kind=st.sampled_from(("data", "labels", "own", "delete", "anew")), value=values)
    def change_live(self, name: str, kind: str, value: str) -> None:
        self.seen["steps"] += 1
        self.seen[f"live {kind}"] += 1
        if kind in ("delete", "anew"):
            self.world.delete(name)
        if kind == "data":
            self.world.edit(name, {"data": {"w": value}})
        elif kind == "labels":
            self.world.edit(name, {"metadata": {"labels": {"team": value}}})
        elif kind != "delete":
            self.world.apply_as("somebody", name, {"x": value})

    @rule(by=st.sampled_from(EVERYBODY), is_active=st.booleans(), has_roles=st.booleans())
    def change_rights(self, by: str, is_active: bool, has_roles: bool) -> None:
        self.seen["steps"] += 1
        self.seen["rights"] += 1
        if by != self.weak:
            previous, self.weak = self.weak, by
            self._set_rights(previous, is_active=True, has_roles=True)
        self._set_rights(by, is_active=is_active, has_roles=has_roles)
        self.weak_may = is_active and has_roles

    def _set_rights(self, by: str, *, is_active: bool, has_roles: bool) -> None:
        person = self._person(by)
        User.objects.filter(pk=person.pk).update(is_active=is_active)
        take_roles(person)
        for role in ROLES[by] if has_roles else ():
            grant_role(person, role)

    @rule(needed=st.integers(1, 2), hours=st.sampled_from((0, 1)), dice=st.integers(0, 3))
    def change_policy(self, needed: int, hours: int, dice: int) -> None:
        self.seen["steps"] += 1
        if dice == 0:  # a new policy makes every plan old: seldom
            self.seen["policy"] += 1
            self.needed = needed
            make_policy(approvals=needed, approval_hours=hours)

    @rule(minutes=st.sampled_from((1, 90)))
    def time_passes(self, minutes: int) -> None:
        self.seen["steps"] += 1
        self.seen["time"] += 1
        self.clock.shift(timedelta(minutes=minutes))
