"""People who act on one review at the very same moment, on a real PostgreSQL: threads of this process, round by round.

Run as `python -m tests.services.races ROUNDS SEED [PLANT]`; the last line of the output is a JSON object with who won
how often and every rule that was broken. In each round somebody edits or plans again while others approve, confirm,
start, revoke, object; in every fifth they do so by the pages. `find_broken` says what must hold. On some machines one
side is always faster: while a side has won nothing, the other one waits longer and longer before it acts.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 - Django is set up first
from django.core.management import call_command  # noqa: E402
from django.db import OperationalError, connections  # noqa: E402
from django.test import Client  # noqa: E402

from applyviz.engine.planning.digest.serialize import options_to_json  # noqa: E402
from applyviz.engine.planning.model.plan import Operation  # noqa: E402
from applyviz.engine.requests.options import ApplyOptions  # noqa: E402
from applyviz.records.enums import PlanState, Role  # noqa: E402
from applyviz.records.models import ApplyRun, Approval, ObjectChange, Plan  # noqa: E402
from applyviz.records.sealing import Unsealed  # noqa: E402
from applyviz.sources.bundle import BundledFile, SourceBundle  # noqa: E402
from applyviz.workflow import runs  # noqa: E402
from applyviz.workflow.approvals import approving  # noqa: E402
from applyviz.workflow.foundation import locks  # noqa: E402
from applyviz.workflow.foundation.errors import WorkflowError  # noqa: E402
from applyviz.workflow.plans import reviews  # noqa: E402
from tests.builders import make_person, make_plan_row  # noqa: E402

PEOPLE = {
    "alice": (Role.AUTHOR,),
    "dora": (Role.AUTHOR, Role.APPROVER),
    "bob": (Role.APPROVER,),
    "carl": (Role.APPROVER,),
}
# What a page may answer: done, not allowed, not there, not possible now, not valid.
AT_ONCE = 5
OPTIONS = options_to_json(ApplyOptions())
ANSWERS = {302, 403, 404, 409, 422}
DONE, REFUSED, DEADLOCK = "done", "refused", "deadlock"
BUNDLE = SourceBundle((BundledFile("a.yaml", b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),))
Act = Callable[[], Any]
RUNS, PLANS = ("confirm", "start"), ("edit", "replan")
# The first pause of the side that always wins, and the number of rounds of which it must have won each.
PAUSE, PATIENCE = 0.002, 6


class Round:
    """One review with one complete plan, and people who do something with it at once."""

    def __init__(self, number: int, people: dict[str, User], clients: dict[str, Client], dice: random.Random) -> None:
        self.people, self.clients, self.dice, self.by_page = people, clients, dice, number % 5 == 0
        self.plan = make_plan_row(people["alice"], state=PlanState.PLANNING, operation=Operation.UPDATE.value)
        Plan.objects.filter(pk=self.plan.pk).update(options=OPTIONS, state=PlanState.COMPLETE)
        self.plan.refresh_from_db()
        self.before = dice.choice(("bob", "carl", ""))
        if self.before:
            approving.approve_plan(self.plan, by=people[self.before], digest=self.plan.digest)
        self.outcomes: list[tuple[str, str]] = []
        self.broken: list[str] = []

    def _ask(self, name: str, what: str, **data: str) -> int:
        place = f"/reviews/{self.plan.review.number}/plans/{self.plan.number}/{what}/"
        return self.clients[name].post(place, {"digest": self.plan.digest, **data}).status_code

    def edit(self, name: str) -> Any:
        return reviews.replan_review(self.plan.review, by=self.people[name], bundle=BUNDLE)

    def replan(self, name: str) -> Any:
        """The next plan, which a worker makes at once; it does the same."""
        if self.by_page:
            return self._ask(name, "replan")
        plan = reviews.replan_review(self.plan.review, by=self.people[name])
        row = self.plan.changes.get()
        content = Unsealed(row.sealed.open_bytes())
        row.pk, row.plan, row.sealed = None, plan, content
        ObjectChange.objects.bulk_create([row])
        bound = {"digest": self.plan.digest, "policy_version": self.plan.policy_version}
        bound |= {"policy_digest": self.plan.policy_digest}
        Plan.objects.filter(pk=plan.pk).update(state=PlanState.COMPLETE, cluster_uid=self.plan.cluster_uid, **bound)
        return plan

    def approve(self, name: str) -> Any:
        if self.by_page:
            return self._ask(name, "confirm", then="wait")
        return approving.approve_plan(self.plan, by=self.people[name], digest=self.plan.digest)

    def confirm(self, name: str) -> Any:
        if self.by_page:
            return self._ask(name, "confirm", then="apply")
        return runs.approve_and_run(self.plan, by=self.people[name], digest=self.plan.digest)

    def start(self, name: str) -> Any:
        if self.by_page:
            return self._ask(name, "apply")
        return runs.start_run(self.plan, by=self.people[name], digest=self.plan.digest)

    def revoke(self, name: str) -> Any:
        if self.by_page:
            return self._ask(name, "revoke")
        mine = Approval.objects.filter(plan=self.plan, by=self.people[name], revoked_at=None).first()
        return approving.revoke_approval(mine, by=self.people[name]) if mine else 409

    def object(self, name: str) -> Any:
        if self.by_page:
            return self._ask(name, "confirm", then="changes", note="not like this")
        return approving.request_changes(self.plan, by=self.people[name], digest=self.plan.digest, note="no")

    def choose(self) -> list[tuple[str, str]]:
        """Who does what: always an edit or a re-plan, and somebody who confirms or starts."""
        editor, other = self.dice.choice(("alice", "alice", "dora")), self.before or "bob"
        ways = [(self.dice.choice(("edit", "replan")), editor), (self.dice.choice(("confirm", "start")), "carl")]
        more = [("approve", "bob"), ("revoke", other), ("start", "bob"), ("confirm", "bob"), ("object", "carl")]
        return ways + self.dice.sample(more, 3)

    def play(self, pool: ThreadPoolExecutor, late: tuple[str, ...] = (), pause: float = 0.0) -> None:
        """All of them at once, those that are `late` after a pause in seconds; each thread keeps its connection."""
        chosen = self.choose()
        self.dice.shuffle(chosen)
        barrier = threading.Barrier(len(chosen))
        waits = [pause if what in late else 0.0 for what, _ in chosen]
        acts = [pool.submit(self._act, barrier, wait, *act) for wait, act in zip(waits, chosen, strict=True)]
        for act in acts:
            act.result(timeout=120)

    def _act(self, barrier: threading.Barrier, wait: float, what: str, who: str) -> None:
        barrier.wait()
        time.sleep(wait)
        try:
            answer = getattr(self, what)(who)
            self.outcomes.append((what, self._read(what, answer)))
        except WorkflowError as refusal:
            self.outcomes.append((what, REFUSED if str(refusal) else "refused without a word"))
        except OperationalError as error:
            self.outcomes.append((what, DEADLOCK))
            self.broken.append(f"{what}: {error}")
        except Exception as error:
            self.broken.append(f"{what}: {type(error).__name__}: {error}")

    def _read(self, what: str, answer: Any) -> str:
        if not isinstance(answer, int):
            return DONE
        if answer not in ANSWERS:
            self.broken.append(f"{what}: the page answered {answer}")
        return DONE if answer == 302 else REFUSED

    def find_broken(self) -> list[str]:
        """A run is of exactly the approved plan, on approvals that were unspent, and never of one that was edited."""
        broken = list(self.broken)
        plans = list(Plan.objects.filter(review=self.plan.review).order_by("number"))
        made = list(ApplyRun.objects.filter(plan__review=self.plan.review))
        given = list(Approval.objects.filter(plan__review=self.plan.review))
        started = sum(done == DONE for what, done in self.outcomes if what in RUNS)
        later = sum(done == DONE for what, done in self.outcomes if what in PLANS)
        if len(made) > 1 or len(made) != started:
            broken.append(f"{len(made)} runs, {started} people were told that they started one")
        if len(plans) != 1 + later:
            broken.append(f"{len(plans)} plans, {later} were asked for")
        spent = [a for a in given if a.spent_at]
        for run in made:
            mine = [a for a in spent if a.run_id == run.pk]
            if run.plan_id != plans[-1].pk:
                broken.append("a run of a plan that was edited or made anew")
            if not mine or any(self._is_wrong(a, run) for a in mine):
                broken.append("a run without unspent approvals of its digest")
            if self._has_change_request():
                broken.append("a run although somebody asks for changes")
        if len(spent) != sum(a.run_id is not None for a in given) or (spent and not made):
            broken.append("an approval was spent on nothing")
        revoked = sum(done == DONE for what, done in self.outcomes if what == "revoke")
        if revoked > sum(a.revoked_at is not None for a in given):
            broken.append("a revocation was told that is none")
        return broken

    def _is_wrong(self, approval: Approval, run: ApplyRun) -> bool:
        is_own = approval.by_id == self.plan.review.author_id
        return approval.digest != run.plan.digest or approval.revoked_at is not None or is_own

    def _has_change_request(self) -> bool:
        return any(done == DONE for what, done in self.outcomes if what == "object")

    def name_winner(self) -> str:
        """What came of the round."""
        won = [what for what, done in self.outcomes if done == DONE and what in RUNS + PLANS]
        return won[0] if won else "nobody"


def forget_locks() -> list[Any]:
    """Nobody holds the review while they look and act."""
    from applyviz.records.models import Review  # noqa: PLC0415 - of this bug alone

    def read(review_id: int) -> Review:
        return Review.objects.get(pk=review_id)

    holders = (locks, approving, reviews, runs.start)
    return [patch.object(module, "lock_review", read) for module in holders]


def revoke_without_order() -> list[Any]:
    """Who revokes holds the approval before anything else, as who starts a run does last."""
    return [patch.object(approving, "lock_review", lambda review_id: None)]


def choose_late(won: Counter[str], number: int) -> tuple[tuple[str, ...], float]:
    """Return who waits in this round, and for how many seconds: the side that always won, longer each time."""
    runs, plans = (sum(won[what] for what in side) for side in (RUNS, PLANS))
    if number < PATIENCE or (runs and plans):
        return (), 0.0
    return ((*PLANS, "object") if plans else RUNS), PAUSE * 2 ** min(number - PATIENCE, 10)


PLANTS = {"": list, "forget_locks": forget_locks, "revoke_without_order": revoke_without_order}


def play(rounds: int, seed: int, plant: str = "") -> dict[str, Any]:
    """So many rounds; gives the figures. With a planted bug no more than it takes to find it."""
    call_command("migrate", verbosity=0, interactive=False)
    people = {name: make_person(name, *roles) for name, roles in PEOPLE.items()}
    clients = {name: Client(raise_request_exception=False, headers={"host": "127.0.0.1"}) for name in people}
    for name, client in clients.items():
        client.force_login(people[name])
    won, outcomes, broken = Counter[str](), Counter[str](), list[str]()
    with ExitStack() as stack:
        for change in PLANTS[plant]():
            stack.enter_context(change)
        pool = stack.enter_context(ThreadPoolExecutor(AT_ONCE, initializer=connections.close_all))
        for number in range(rounds):
            one = Round(number, people, clients, random.Random(f"{seed} {number}"))
            one.play(pool, *choose_late(won, number))
            won[one.name_winner()] += 1
            outcomes.update(f"{what} {done}" for what, done in one.outcomes)
            broken += [f"round {number}: {what}" for what in one.find_broken()]
            if plant and broken:
                break
    return {"rounds": rounds, "won": dict(won), "outcomes": dict(sorted(outcomes.items())), "broken": broken}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(play(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4])) + "\n")
