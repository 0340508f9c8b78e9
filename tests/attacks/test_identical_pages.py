"""Every address, read by people who may not read a Secret: a right and a wrong guess give the same answers.

Two worlds differ in one thing only: the manifest of a Secret equals what is live, or it does not. Each world is played
in a transaction that is rolled back, so that both have the same numbers, at a clock that stands still; what remains
different is random (tags, digests, hashes), and is taken out. Every route of the URLconf is listed here, either with
the addresses that are read or among those that show nothing of a plan or run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import unified_diff
from functools import partial

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from applyviz import clock
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.records.enums import Applier, Role, TokenScope
from applyviz.records.models import ApplyRun, AuditEntry, Plan, Review, Webhook
from applyviz.records.sealing import Unsealed
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.web.reviews.pages.plan_overview import read_plan
from applyviz.web.reviews.pages.search.field_lines import read_lines
from applyviz.workflow.approvals.commented_lines import LineText
from applyviz.workflow.foundation.plan_rows import list_rows
from applyviz.workflow.live import external_apply, scans
from applyviz.workflow.notifications import events
from applyviz.workflow.people import tokens
from applyviz.workflow.plans import planner, reviews
from applyviz.workflow.runs import request_sender
from tests.attacks.answers import Answers, choose, list_told, post_all, read_words
from tests.attacks.routes import WITHOUT_PLANS
from tests.builders import make_person, map_person, open_dangers, set_email
from tests.stories import Team, config_map, secret

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
RIGHT, WRONG = "q7Rz0xWv-right", "q7Rz0xWv-wrong"
SECRET = 0
MODES = (ApplyMode.SERVER, pytest.param(ApplyMode.CLIENT, marks=pytest.mark.long))
VIEWS = ("fields", "diff", "requests", "owners", "yaml", "fields&show=all&compare=1", "diff&split=1&complete=1")
# Who reads, and which routes: those that show a viewer nothing, or something else than a viewer.
READERS: dict[str, tuple[Role, str]] = {
    "viewer": (Role.VIEWER, ""),
    "auditor": (Role.AUDITOR, r"history:"),
    "mapped-author": (
        Role.AUTHOR,
        r"reviews:(show-plan|show-changes|show-risks|show-patch|propose-rule|compare|hand-over|take-fields"
        r"|move-ownership|edit-last-applied|plan-others)|runs:|search",
    ),
    "mapped-approver": (
        Role.APPROVER,
        r"home|reviews:(list-reviews|show-plan|confirm|schedule|break)|history:(show-entry|export)",
    ),
}


@dataclass
class World:
    """The plans and runs of one world."""

    team: Team
    plans: list[Plan] = field(default_factory=list)
    runs: list[ApplyRun] = field(default_factory=list)

    def of_plans(self, name: str, *more: object) -> Iterator[str]:
        """An address of each plan."""
        return (reverse(name, args=[plan.review.number, plan.number, *more]) for plan in self.plans)

    def of_objects(self, name: str, *more: object) -> Iterator[str]:
        """An address of the Secret in the plans that overwrite and that conflict."""
        for plan in self.plans[1:3]:
            yield reverse(name, args=[plan.review.number, plan.number, SECRET, *more])

    def of_reviews(self, name: str) -> Iterator[str]:
        """An address of each review."""
        return (reverse(name, args=[number]) for number in sorted({plan.review.number for plan in self.plans}))

    def of_runs(self, name: str, *more: object) -> Iterator[str]:
        """An address of each run."""
        return (reverse(name, args=[run.number, *more]) for run in self.runs)


def one(name: str, *args: object, query: str = "") -> Callable[[World], Iterator[str]]:
    """A single address."""
    return lambda world: iter([reverse(name, args=args) + query])


def list_entries(world: World) -> Iterator[str]:
    base = reverse("history:list-entries")
    yield base
    for query in ("action=object.intent", "action=object.result", "kind=Secret", "text=unchanged", "text=verified"):
        yield f"{base}?{query}"
    yield from (f"{base}?text={word}" for word in ("PATCH", "refused", "conflict", "update"))


def show_entries(world: World) -> Iterator[str]:
    return (reverse("history:show-entry", args=[pk]) for pk in AuditEntry.objects.values_list("pk", flat=True))


def show_findings(world: World) -> Iterator[str]:
    return (reverse("clusters:list-findings", args=["box", sort]) for sort in ("changed", "drifted", "missing"))


OBJECT = ("box", "core", "Secret", "default", "login")
SINCE = "?since=2026-11-20&until=2026-11-22"
READ: dict[str, Callable[[World], Iterator[str]]] = {
    "home": one("home"),
    "reviews:list-reviews": one("reviews:list-reviews"),
    "reviews:show-review": lambda w: w.of_reviews("reviews:show-review"),
    "reviews:follow-branch": lambda w: w.of_reviews("reviews:follow-branch"),
    "reviews:request-reviewers": lambda w: w.of_reviews("reviews:request-reviewers"),
    "api:request-reviewers": lambda w: w.of_reviews("api:request-reviewers"),
    "api:follow-branch": lambda w: w.of_reviews("api:follow-branch"),
    "reviews:compare-plans": lambda w: (
        f"{address}?first=1&second=2" for address in w.of_reviews("reviews:compare-plans")
    ),
    "reviews:show-plan": lambda w: w.of_plans("reviews:show-plan"),
    "reviews:show-latest-overview": lambda w: w.of_reviews("reviews:show-latest-overview"),
    **{
        name: partial(World.of_plans, name=name)
        for name in (
            *("reviews:show-overview", "reviews:show-requests", "reviews:show-activity"),
            *("reviews:show-addons", "reviews:show-risks", "reviews:live-comparison", "reviews:show-source-changes"),
        )
    },
    "search": lambda w: (
        f"{reverse('search')}?q={word}"
        for word in ("login", "secret/login", "update", "applied", "data.", "changed", "masked")
    ),
    "reviews:show-watch": lambda w: w.of_plans("reviews:show-watch"),
    "reviews:show-record": lambda w: w.of_plans("reviews:show-record"),
    "reviews:keep-requests": lambda w: w.of_plans("reviews:keep-requests"),
    "reviews:show-graph": lambda w: (
        f"{address}{query}" for query in ("", "?fold=0", "?view=table") for address in w.of_plans("reviews:show-graph")
    ),
    "reviews:plan-others": lambda w: w.of_plans("reviews:plan-others"),
    "reviews:hand-over": lambda w: w.of_objects("reviews:hand-over"),
    "reviews:take-fields": lambda w: w.of_objects("reviews:take-fields"),
    "reviews:edit-last-applied": lambda w: w.of_objects("reviews:edit-last-applied"),
    "reviews:move-ownership": lambda w: w.of_plans("reviews:move-ownership"),
    "reviews:export-graph": lambda w: w.of_plans("reviews:export-graph"),
    "reviews:show-owners": lambda w: (
        f"{address}{query}"
        for query in ("", "?view=table", "?object=0")
        for address in w.of_plans("reviews:show-owners")
    ),
    "reviews:plan-events": lambda w: w.of_plans("reviews:plan-events"),
    "reviews:list-changes": lambda w: (
        f"{address}{query}"
        for query in ("", "?q=login", "?q=data", "?q=changed", "?q=removed", "?q=masked")
        for address in w.of_plans("reviews:list-changes")
    ),
    "reviews:show-changes": lambda w: (
        f"{address}{query}"
        for address in w.of_plans("reviews:show-changes")
        for query in ("", *(f"?only={SECRET}&view={view}" for view in VIEWS))
    ),
    "reviews:scroll-objects": lambda w: (
        f"{a}?only={SECRET}{q}"
        for a in w.of_plans("reviews:scroll-objects")
        for q in ("", "&view=diff", "&view=yaml", "&show=all", "&alone=on", "&alone=on&view=owners")
    ),
    "reviews:confirm-plan": lambda w: w.of_plans("reviews:confirm-plan"),
    "reviews:emergency-apply": lambda w: w.of_plans("reviews:emergency-apply"),
    "reviews:schedule-start": lambda w: w.of_plans("reviews:schedule-start"),
    "reviews:propose-rule": lambda w: w.of_objects("reviews:propose-rule"),
    "reviews:show-patch": lambda w: (
        address for of in ("open", "answers", "all") for address in w.of_objects("reviews:show-patch", of, 0, 1)
    ),
    "reviews:show-edited": lambda w: w.of_objects("reviews:show-edited", "answers", 0),
    "reviews:show-file": lambda w: (
        address
        for name in ("manifest.yaml", "after.yaml", "live.yaml", "last-applied.yaml", "request.json")
        for address in w.of_objects("reviews:show-file", name)
    ),
    "reviews:field-comments": lambda w: (
        a for index in range(3) for a in w.of_objects("reviews:field-comments", index)
    ),
    "reviews:line-comments": lambda w: (
        f"{a}?text={text}" for text in LineText for a in w.of_objects("reviews:line-comments")
    ),
    "reviews:show-field": lambda w: (a for index in range(3) for a in w.of_objects("reviews:show-field", index)),
    "runs:list-runs": one("runs:list-runs"),
    "runs:show-run": lambda w: w.of_runs("runs:show-run"),
    "runs:show-live": lambda w: w.of_runs("runs:show-live"),
    "runs:show-graph": lambda w: w.of_runs("runs:show-graph"),
    "runs:list-requests": lambda w: w.of_runs("runs:list-requests"),
    "runs:run-events": lambda w: w.of_runs("runs:run-events"),
    "runs:undo-run": lambda w: w.of_runs("runs:undo-run"),
    "runs:show-result": lambda w: w.of_runs("runs:show-result", SECRET),
    "history:list-entries": list_entries,
    "history:show-entry": show_entries,
    "history:show-person": lambda w: (reverse("history:show-person", args=[n]) for n in ("alice", "bob", "applyviz")),
    "history:show-cluster": one("history:show-cluster", "box"),
    "history:show-manager": one("history:show-manager", "applyviz"),
    "history:export-entries": lambda w: (reverse("history:export-entries", args=[form]) for form in ("csv", "jsonl")),
    "history:show-evidence": one("history:show-evidence", query=SINCE),
    "history:export-evidence": lambda w: (
        reverse("history:export-evidence", args=[form]) + SINCE for form in ("csv", "jsonl")
    ),
    "history:show-object": one("history:show-object", *OBJECT),
    "clusters:list-clusters": one("clusters:list-clusters"),
    "clusters:show-cluster": one("clusters:show-cluster", "box"),
    "clusters:show-objects": one("clusters:show-objects", "box"),
    "clusters:show-managers": one("clusters:show-managers", "box"),
    "clusters:show-applysets": one("clusters:show-applysets", "box"),
    "clusters:show-runs": one("clusters:show-runs", "box"),
    "clusters:show-settings": one("clusters:show-settings", "box"),
    "clusters:show-state": one("clusters:show-state", "box"),
    "clusters:list-findings": show_findings,
    "clusters:field-manager": one("clusters:field-manager", "box", "applyviz"),
    "clusters:adopt-object": one("clusters:adopt-object", *OBJECT),
    "notifications:list-notifications": one("notifications:list-notifications"),
    "notifications:show-bell": one("notifications:show-bell"),
    "api:show-latest": lambda w: w.of_reviews("api:show-latest"),
    "api:show-plan": lambda w: w.of_plans("api:show-plan"),
    "api:show-run": lambda w: w.of_runs("api:show-run"),
}


def list_routes(patterns: list[URLPattern | URLResolver] | None = None, prefix: str = "") -> Iterator[str]:
    """The names of all routes, with their namespaces."""
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(entry, URLResolver):
            yield from list_routes(entry.url_patterns, f"{prefix}{entry.namespace}:" if entry.namespace else prefix)
        elif isinstance(entry, URLPattern):
            yield f"{prefix}{entry.name}"


def watch(team: Team, *texts: str) -> Plan:
    """A plan of what Helm applies."""
    review = reviews.create_review(
        by=team.alice,
        title="Helm",
        reason="",
        ticket="",
        cluster=team.cluster,
        options=external_apply.as_tool(ApplyOptions(takes_over=True), Applier.HELM, is_manager_given=False),
        bundle=SourceBundle(tuple(BundledFile(f"{n}.yaml", text.encode()) for n, text in enumerate(texts))),
        applied_by=Applier.HELM,
    )
    planner.make_plan(review.plans.get().pk)
    return review.plans.get()


def replan(team: Team, plan: Plan) -> Plan:
    """The next plan of the same manifests, after the ConfigMap moved."""
    assert team.edit("/api/v1/namespaces/default/configmaps/settings", {"data": {"seen": "twice"}}).is_ok
    reviews.replan_review(Review.objects.get(pk=plan.review_id), by=team.alice)
    again = Plan.objects.filter(review=plan.review_id).order_by("-number")[0]
    planner.make_plan(again.pk)
    return Plan.objects.get(pk=again.pk)


def play(team: Team, value: str, mode: ApplyMode) -> World:
    """Everything that can happen to a plan, with one value of the Secret."""
    world = World(team)
    texts = (secret(password=value), config_map(b="2"))
    first = team.plan(*texts, mode=mode, takes_over=True)
    world.plans += [first, replan(team, first)]
    world.plans.append(team.plan(*texts, mode=mode))
    watched = watch(team, *texts)
    looked = external_apply.verify_now(watched, by=team.alice)
    external_apply.verify_plan(looked.pk)
    world.plans.append(watched)
    applied = team.plan(*texts, mode=mode, takes_over=True)
    open_dangers(applied, team.bob)
    world.plans.append(applied)
    world.runs.append(team.work(team.start(applied)))
    assert world.runs[0].state == "applied", world.runs[0].error
    scans.scan_cluster(scans.request_scan(team.cluster, by=None).pk)
    events.send_pending()
    return world


Play = Callable[[Team, str, ApplyMode], World]


def prepare(monkeypatch: pytest.MonkeyPatch, mode: ApplyMode) -> tuple[Team, dict[str, User], str]:
    """A team, its readers, and a Secret that another tool gave the value that is guessed."""
    team = Team().wire_up(monkeypatch)
    for module in (request_sender, clock):
        monkeypatch.setattr(module, "monotonic", lambda: 0.0)  # how long a request took is chance
    readers = {name: make_person(name, role) for name, (role, _) in READERS.items()}
    for number, (name, person) in enumerate(readers.items()):
        if name.startswith("mapped"):
            map_person(team.cluster, person, name, number=number)
    for person in User.objects.all():
        set_email(person.username, f"{person.username}@example.com")
    Webhook.objects.create(
        name="chat",
        url="https://chat.example",
        secret=Unsealed.of_bytes(b"s" * 32),
        created_at=timezone.now(),
        created_by=team.alice,
    )
    team.apply(secret(password="the-first-one"), config_map(b="1"), mode=mode)
    live = {"stringData": {"password": RIGHT}}
    assert team.edit("/api/v1/namespaces/default/secrets/login", live).is_ok
    return team, readers, make_token(readers["viewer"])


class _OverError(Exception):
    """The world ends."""


def tell(
    team: Team,
    value: str,
    mode: ApplyMode,
    readers: dict[str, User],
    token: str,
    play: Play = play,
    names: Iterable[str] = READERS,
    step: int = 1,
) -> Answers:
    """Every answer to the named readers in one world, by reader and address; nothing of the world is left."""
    found: Answers = {}
    cache.clear()
    read_plan.cache_clear()
    list_rows.cache_clear()
    read_lines.cache_clear()
    try:
        with transaction.atomic():
            world = play(team, value, mode)
            team.wire.denied = {"get"}
            for name in names:
                found |= read_all(world, name, readers[name], token, step)
            found["everybody", "told"] = list_told()
            found |= post_all(world.plans, readers, step)
            raise _OverError
    except _OverError:
        team.wire.denied = set()
    return found


def make_token(person: User) -> str:
    """Return an access token for the API."""
    return tokens.make_token(by=person, account=person, name="ci", scope=TokenScope.READ, days=7)[1]


def read_all(world: World, reader: str, person: User, token: str, step: int) -> Answers:
    """Return the answers to one person, at each address of every route or at one of `step`, another per route."""
    client = Client()
    client.force_login(person)
    found = {}
    for number, (name, list_addresses) in enumerate(READ.items()):
        if not re.match(READERS[reader][1], name):
            continue
        given = {"HTTP_AUTHORIZATION": f"Bearer {token}"} if name.startswith("api:") else {}
        for address in choose(list_addresses(world), number, step):
            found[reader, address] = read_words(client.get(address, **given))
    return found


def test_every_route_is_read_or_shows_no_plan() -> None:
    routes = {name for name in list_routes() if not name.startswith("settings:")}

    assert routes == READ.keys() | WITHOUT_PLANS
    assert READ.keys() & WITHOUT_PLANS == set()


@pytest.mark.parametrize(
    ("mode", "names", "step"),
    [
        # Every route, by the reader to whom everything is shown; the long lane has all addresses, readers and modes.
        (ApplyMode.SERVER, ("viewer",), 12),
        *(pytest.param(mode, tuple(READERS), 1, marks=pytest.mark.long) for mode in ApplyMode),
    ],
)
def test_answers_to_a_right_and_a_wrong_guess_are_identical(monkeypatch, mode: ApplyMode, names, step) -> None:
    with time_machine.travel(datetime(2026, 11, 21, 10, tzinfo=UTC), tick=False):
        team, readers, token = prepare(monkeypatch, mode)

        right, wrong = (tell(team, value, mode, readers, token, names=names, step=step) for value in (RIGHT, WRONG))

    compare(right, wrong)


def compare(right: Answers, wrong: Answers) -> None:
    """Fail with every address whose answers differ."""
    told = {
        address: "\n".join(unified_diff(right.get(address, []), wrong.get(address, []), n=1, lineterm=""))
        for address in right | wrong
        if right.get(address) != wrong.get(address)
    }
    assert not told, f"{len(told)} of {len(right)} addresses tell:\n" + "\n".join(
        f"== {' '.join(address)}\n{text[:1500]}" for address, text in told.items()
    )
