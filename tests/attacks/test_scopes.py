"""A scope is a boundary: an author of one namespace reads every address, and finds nothing of another.

Every address that `test_identical_pages` lists is read, with the numbers of reviews, plans and runs of the other
namespace; so is what adoption reads live. Everything of the other namespace and of the cluster carries one word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

from applyviz.engine.planning.objects.conflict_rules import FieldRule, RuleResolution
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import Role, TokenScope
from applyviz.records.models import AuditEntry, ClusterScan, Review
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow.foundation.errors import NotAllowedError, NotVisibleError
from applyviz.workflow.live import adoption, scans
from applyviz.workflow.notifications import events
from applyviz.workflow.people import tokens
from applyviz.workflow.plans import conflict_rules, planner, reviews
from tests.attacks.answers import STEPS, read_words, share
from tests.attacks.test_identical_pages import READ, World
from tests.builders import grant_role, make_person
from tests.shared_rows import share_rows
from tests.stories import Team

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
CANARY = "canary7Rz"
NAME = CANARY.lower()
ROLE = "rbac.authorization.k8s.io"


def write(kind: str, name: str, namespace: str, api_version: str = "v1", **rest: object) -> str:
    """A manifest."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return yaml.safe_dump({"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest})


def write_foreign(value: str) -> list[str]:
    """Objects of another namespace and of the cluster."""
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": [CANARY]}]
    return [
        write("ConfigMap", NAME, "default", data={"note": f"{CANARY}-{value}"}),
        write("Secret", NAME, "default", stringData={"password": f"{CANARY}-{value}"}),
        write("ClusterRole", NAME, "", f"{ROLE}/v1", rules=rules),
    ]


def play(team: Team) -> World:
    """Reviews, plans, a run, a rule and findings of another namespace."""
    world = World(team)
    world.runs.append(team.apply(*write_foreign("one")))
    assert world.runs[0].state == "applied", world.runs[0].error
    world.plans += [world.runs[0].plan, team.plan(*write_foreign("two"))]
    Review.objects.update(title=f"Change {CANARY}", reason=CANARY)
    draft = FieldRule("", "ConfigMap", "default", NAME, ("f:data",), RuleResolution.OVERWRITE, CANARY)
    conflict_rules.propose_rule(world.plans[-1], draft, by=team.alice, reason=CANARY)
    assert team.edit(f"/api/v1/namespaces/default/configmaps/{NAME}", {"data": {"by": CANARY}}, manager=CANARY).is_ok
    scans.scan_cluster(scans.request_scan(team.cluster, by=None).pk)
    events.send_pending()
    return world


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker) -> Iterator[World]:
    """The other namespace, made once."""

    def make() -> World:
        with pytest.MonkeyPatch.context() as patch:
            return play(Team().wire_up(patch))

    yield from share_rows(django_db_blocker, make)


@pytest.fixture
def world(played, db, monkeypatch) -> World:
    """The same for one test."""
    found = deepcopy(played)
    found.team.wire_up(monkeypatch)
    return found


@pytest.fixture
def carol(db) -> User:
    """An author of the namespace `mine`, with every role that a namespace gives."""
    person = make_person("carol")
    for role in (Role.AUTHOR, Role.APPROVER, Role.OPERATOR, Role.AUDITOR):
        grant_role(person, role, cluster="box", namespace="mine", is_cluster_scoped=False)
    return person


def list_addresses(world: World) -> Iterator[str]:
    """Every address that a GET reads, and those that name objects outside the scope."""
    for addresses in READ.values():
        yield from addresses(world)
    for group, kind, namespace in (
        *(("core", "ConfigMap", place) for place in ("default", "mine")),
        *((ROLE, "ClusterRole", place) for place in ("mine", "default", "-")),
    ):
        of_kind = ["box", group, kind, namespace, NAME]
        yield reverse("clusters:adopt-object", args=of_kind)
        yield reverse("history:show-object", args=of_kind)
    yield reverse("clusters:list-rules", args=["box"])
    yield reverse("clusters:field-manager", args=["box", CANARY])
    yield reverse("history:show-manager", args=[CANARY])
    yield f"{reverse('search')}?q={NAME[:6]}"


def list_telling(addresses: Iterable[str], client: Client, **given: str) -> list[str]:
    """The addresses whose answers hold the word and do not just repeat it from the address."""
    found = []
    for address in addresses:
        words = [word for word in (CANARY, NAME) if word not in address]
        lines = [line for line in read_words(client.get(address, **given)) if any(word in line for word in words)]
        found += [f"{address}: {lines[0][:200]}"] if lines else []
    return found


@pytest.mark.parametrize("step", STEPS)
def test_an_author_of_one_namespace_reads_nothing_of_another(world, carol, step) -> None:
    client = Client()
    client.force_login(carol)
    token = tokens.make_token(by=carol, account=carol, name="ci", scope=TokenScope.READ, days=7)[1]

    every = list(list_addresses(world))
    assert list_telling(share(every, 0, step), client) == []
    assert list_telling(share(every, 1, step), client, HTTP_AUTHORIZATION=f"Bearer {token}") == []


PARTS = {"slug": "box", "cluster": "box", "group": "core", "kind": "ConfigMap", "namespace": "default", "name": NAME}
PARTS |= {"number": 1, "plan": 1, "run": 1, "pk": 1, "comment": 1, "manager": CANARY, "rest": "api/v1/configmaps"}


def list_all_addresses(patterns: list, prefix: str = "") -> Iterator[str]:
    """One address of every route, made of numbers and names of the other namespace."""
    for entry in patterns:
        if isinstance(entry, URLResolver):
            yield from list_all_addresses(
                entry.url_patterns, f"{prefix}{entry.namespace}:" if entry.namespace else prefix
            )
        else:
            parts = {key: PARTS.get(key, 0) for key in entry.pattern.converters}
            yield reverse(f"{prefix}{entry.name}", kwargs=parts)


@pytest.mark.core(1)
@pytest.mark.parametrize("method", ["get", "post"])
def test_no_address_at_all_tells_of_another_namespace(world, carol, method) -> None:
    """What is posted is empty: an address that acts refuses it, or the person, before it tells anything."""
    addresses = list(list_all_addresses(get_resolver().url_patterns))
    assert len(addresses) > 150

    told = []
    client = Client()
    client.force_login(carol)
    for address in addresses:
        if method == "post":  # a post may have signed her out
            client.force_login(carol)
        words = [word for word in (CANARY, NAME) if word not in address]
        lines = [line for line in read_words(getattr(client, method)(address)) if any(word in line for word in words)]
        told += [f"{address}: {lines[0][:200]}"] if lines else []

    assert told == []
    assert method == "post" or client.get(reverse("home")).status_code == 200  # still signed in


@pytest.mark.parametrize("step", STEPS)
def test_who_may_view_it_reads_it(world, step) -> None:
    """The word is where it would be found."""
    client = Client()
    client.force_login(world.team.alice)

    assert len(list_telling(share(list_addresses(world), 2, step), client)) > 40 // step


@pytest.mark.parametrize("namespace", ["mine", "default", ""])
def test_a_namespace_named_for_a_kind_without_one_gives_no_right(world, carol, namespace) -> None:
    where = {"group": ROLE, "kind": "ClusterRole", "namespace": namespace, "name": NAME}

    with pytest.raises((NotAllowedError, NotVisibleError)):
        adoption.read_adoption(world.team.cluster, **where, by=carol)
    with pytest.raises((NotAllowedError, NotVisibleError)):
        adoption.prepare_adoption(
            world.team.cluster, objects=[where], title="Mine", reason="", options=ApplyOptions(), by=carol
        )


def test_a_plan_of_another_namespace_is_refused_before_it_reads(world, carol) -> None:
    """Her review names her namespace; the manifests do not."""
    world.team.wire.identities.clear()
    review = reviews.create_review(
        by=carol,
        title="Mine",
        reason="",
        ticket="",
        cluster=world.team.cluster,
        options=ApplyOptions(namespace="mine"),
        bundle=SourceBundle(
            tuple(BundledFile(f"{n}.yaml", text.encode()) for n, text in enumerate(write_foreign("three")))
        ),
    )
    planner.make_plan(review.plans.get().pk)

    plan = review.plans.get()
    assert plan.state == "failed"
    assert [r.path for _, r in world.team.wire.identities if NAME in r.path] == []
    assert not AuditEntry.objects.filter(review=review.number, name=NAME).exists()


def test_a_scan_needs_the_right_on_its_cluster(world) -> None:
    """An author of another cluster views this one; a scan here is not hers to request."""
    dora = make_person("dora")
    grant_role(dora, Role.VIEWER, cluster="box")
    grant_role(dora, Role.AUTHOR, cluster="other")
    ClusterScan.objects.update(finished_at="2026-01-01T00:00:00Z")

    with pytest.raises(NotAllowedError):
        scans.request_scan(world.team.cluster, by=dora)
