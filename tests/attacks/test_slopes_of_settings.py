"""No address costs more than in proportion to what a team has: people, rights, tokens, webhooks, presets, policies.

Every address of the URLconf is read with few and with many rows of each kind, so a new one is read without being named
here. The playground is asked about a small and a large object.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from applyviz import clock
from applyviz.engine.planning.objects.conflict_rules import FieldRule, RuleResolution
from applyviz.engine.requests.options import ApplyMode
from applyviz.records import models
from applyviz.records.enums import NotificationKind, Role, TokenScope
from applyviz.records.git_enums import ForgeKind, IdentityKind
from applyviz.web.reviews.pane.object_content import ObjectView
from applyviz.workflow.clusters import impersonation
from applyviz.workflow.following import push_webhooks
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.notifications import webhooks
from applyviz.workflow.people import commit_identities, teams, tokens
from applyviz.workflow.plans import conflict_rules, presets, repository_credentials
from tests.attacks.test_slopes import (
    LEAST_SECONDS,
    MOST_EXPONENT,
    TIMES,
    TRIES,
    Reader,
    find_exponent,
    write_deployment,
)
from tests.builders import add_member, grant_role, make_cluster_row, make_person, make_policy
from tests.pace import measure
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
SMALL, OBJECT = 20, 100
TOKEN = "glpat-abcdefghij0123456789"
# What the parts of an address name: the newest of what was made.
PARTS: dict[str, object] = {
    "slug": "box",
    "cluster": "box",
    "group": "core",
    "kind": "ConfigMap",
    "namespace": "default",
    "rest": "x",
    "path": "x",
    "form": "csv",
    "sort": "changed",
    "of": "open",
    "option": 1,
    "index": 0,
    "position": 0,
    "manager": "applyviz",
    "page": "conflicts",
    "tab": "diff",
    "key": "none",
    "token": "none",
    "identifier": "none",
    "number": 1,
    "plan": 1,
    "name": "person-0",
    "member": 1,
    "grant": 1,
    "comment": 1,
    "delivery": 1,
    "pk": 1,
}
SLUGS = {"policies": "policy-0", "presets": "preset-0", "teams": "team-0"}


class Installation:
    """What one team has, more and more of it."""

    def __init__(self, team: Team) -> None:
        self.team, self.count = team, 0
        self.dana, self.dora = (make_person(name, *Role) for name in ("dana", "dora"))
        self.plan = team.plan(config_map(a="1"))

    def grow(self, count: int) -> None:
        """Make as much of everything."""
        for number in range(self.count, count):
            self._add_people(number)
            self._add_connections(number)
            self._add_rules(number)
            self._notify(number)
        self.count = count

    def _add_people(self, number: int) -> None:
        person = make_person(f"person-{number}")
        team = teams.create_team(by=self.dana, slug=f"team-{number}", name=f"Team {number}")
        grant_role(person, Role.AUTHOR, cluster="box", namespace=f"space-{number}")
        grant_role(self.dana, Role.VIEWER, cluster="box", namespace=f"space-{number}")
        for one in (self.dana, person):
            add_member(team, one)
        add_member(models.Team.objects.get(slug="team-0"), make_person(f"member-{number}"))
        account = tokens.make_service_account(by=self.dana, name=f"bot-{number}", purpose="ci")
        tokens.make_token(by=self.dana, account=account, name="ci", scope=TokenScope.PLAN, days=7)
        member = self._named(f"member-{number}")
        teams.grant_role(Role.ADMINISTRATOR, by=self.dana, person=member, scope=Scope())
        commit_identities.link(person, IdentityKind.LOGIN, f"github.com/person-{number}", by=self.dana)
        draft = impersonation.MappingDraft(user=f"user-{number}", person=person)
        impersonation.map_identity(self.team.cluster, draft, by=self.dora)

    def _named(self, name: str) -> User:
        return User.objects.get(username=name)

    def _add_connections(self, number: int) -> None:
        make_cluster_row(f"cluster-{number}")
        address = f"https://git.example/team/{number}"
        draft = repository_credentials.Draft(address=address, secret=TOKEN, username="ci")
        repository_credentials.add_credential(draft, by=self.dana)
        push_webhooks.add_webhook(f"{address}.git", ForgeKind.GITHUB, by=self.dana)
        hook = {"url": "https://chat.example/", "secret": "s" * 32, "events": [], "by": self.dana}
        webhooks.add_webhook(name=f"hook-{number}", **hook)
        draft = presets.PresetDraft(slug=f"preset-{number}", name=f"Preset {number}", cluster=self.team.cluster)
        presets.add_preset(draft, by=self.dana)

    def _add_rules(self, number: int) -> None:
        make_policy(f"policy-{number}", cluster=f"cluster-{number}", approvals=2)
        make_policy("policy-0", cluster="cluster-0", approvals=1 + number % 3)
        name = f"settings-{number}"
        rule = FieldRule("", "ConfigMap", "default", name, ("f:data",), RuleResolution.OVERWRITE, "me")
        conflict_rules.propose_rule(self.plan, rule, by=self.team.alice, reason="because")

    def _notify(self, number: int) -> None:
        now = clock.now()
        event = models.NotificationEvent.objects.create(
            key=f"key-{number}",
            event=NotificationKind.REVIEW_REQUESTED,
            facts={"review": {"number": 1, "title": "Change"}},
            at=now,
        )
        models.Notification.objects.create(notification_event=event, person=self.dana)
        models.Delivery.objects.create(
            webhook=models.Webhook.objects.order_by("pk")[0],
            notification_event=event,
            identifier=uuid4(),
            due_at=now,
            created_at=now,
        )


def list_addresses(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    """One address of every route."""
    for entry in patterns:
        if isinstance(entry, URLResolver):
            below = f"{prefix}{entry.namespace}:" if entry.namespace else prefix
            yield from list_addresses(entry.url_patterns, below)
        else:
            parts = {key: PARTS[key] for key in entry.pattern.converters}
            first = str(entry.pattern).partition("/")[0]
            parts |= {"slug": SLUGS.get(first, "box")} if "slug" in parts else {}
            yield reverse(f"{prefix}{entry.name}", kwargs=parts)


def time_least(reader: Reader, address: str, most: float = 0) -> float:
    """The least processor time of several answers, or the first that is less than `most`."""
    least = math.inf
    for _ in range(TRIES):
        least = min(least, reader.time("api:" if address.startswith("/api/") else "", address))
        if least < most:
            break
    return least


def find_steep(reader: Reader, small: dict[str, tuple[str, float]]) -> dict[str, float]:
    """The addresses of which the answer costs more than in proportion, each with its exponent."""
    steep = {}
    for address, (now, before) in small.items():
        taken = time_least(reader, now, max(before, LEAST_SECONDS) * TIMES**MOST_EXPONENT)
        if find_exponent(before, taken) >= MOST_EXPONENT:
            steep[address] = round(find_exponent(before, taken), 2)
    return steep


@pytest.mark.long
def test_cost_of_an_address_grows_in_proportion_to_what_a_team_has(monkeypatch: pytest.MonkeyPatch) -> None:
    team = Team().wire_up(monkeypatch)
    installation = Installation(team)
    installation.grow(SMALL)
    reader = Reader(team, installation.dana)
    every = list(list_addresses(get_resolver().url_patterns))
    assert len(every) > 200
    small = {address: (address, time_least(reader, address, LEAST_SECONDS)) for address in every}

    installation.grow(SMALL * TIMES)

    assert find_steep(reader, small) == {}


@pytest.mark.core(1)
@pytest.mark.parametrize("mode", ApplyMode)
def test_cost_of_the_playground_grows_in_proportion_to_the_object(
    monkeypatch: pytest.MonkeyPatch, mode: ApplyMode
) -> None:
    team = Team().wire_up(monkeypatch)
    reader = Reader(team)

    def ask(count: int) -> tuple[str, float]:
        given = {"manifest": write_deployment(count, "wanted"), "live": write_deployment(count, "live")}
        answer, seconds = measure(reader.client.post, "/playground/", {"mode": mode.value, **given})
        return answer.headers["Location"].partition("#")[0], seconds

    address, first = ask(OBJECT)
    tabs = ("", *(f"{view.value}/" for view in ObjectView), "diff/?split=1", "fields/0/")
    small = {tab: time_least(reader, address + tab, LEAST_SECONDS) for tab in tabs}
    large, second = ask(OBJECT * TIMES)

    assert find_exponent(first, second) < MOST_EXPONENT
    assert find_steep(reader, {tab: (large + tab, seconds) for tab, seconds in small.items()}) == {}
