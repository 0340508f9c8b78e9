"""A hostile cluster, or an odd object in a cluster, breaks no page, no plan of other objects and no scan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.test import Client
from django.urls import reverse

from applyviz.clusters import connect
from applyviz.clusters.answers import MOST_NESTED, read_body
from applyviz.clusters.identity import Identity
from applyviz.clusters.sandbox import SandboxTransport
from applyviz.engine.objects.errors import UnreachableError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.json_text import is_nested_deeper
from applyviz.records.enums import PlanState
from applyviz.records.models import ClusterScan
from applyviz.workflow.live import scans
from tests import pace
from tests.stories import SETTINGS, Team, config_map

pytestmark = pytest.mark.attacks
OBJECT = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"default"%s},"data":%s}'
LIST = "/api/v1/configmaps"


def nest(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def write(metadata: str = "", data: str = "{}") -> str:
    return OBJECT % (metadata and f",{metadata}", data)


HOSTILE = {
    "nested": write(data=nest(300)),
    "nested-beyond-reading": write(data=nest(100_000)),
    "half-a-pair": write(data='{"a":"\\ud800"}'),
    "text": '"ConfigMap"',
    "number": "1",
    "nothing": "null",
    "no-metadata": '{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}',
    "odd-name": '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":{}}}',
    "odd-labels": write('"labels":"x"'),
    "odd-owners": write('"ownerReferences":["x",null]'),
    "odd-managers": write('"managedFields":["x"]'),
    "odd-finalizers": write('"finalizers":[{}]'),
}


@dataclass
class Hostile:
    """A transport that answers the list of ConfigMaps, or one of them, with a text."""

    inner: SandboxTransport
    text: str

    def acting_as(self, identity: Identity) -> Hostile:
        return Hostile(self.inner.acting_as(identity), self.text)

    def send(self, request: Request) -> Answer:
        if request.method == "GET" and request.path in (SETTINGS, LIST):
            listed = f'{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{}},"items":[{self.text}]}}'
            return Answer(200, read_body(200, (listed if request.path == LIST else self.text).encode()))
        return self.inner.send(request)

    def close(self) -> None:
        self.inner.close()


@pytest.fixture
def attack(team: Team, monkeypatch) -> Callable[[str], None]:
    """From here on, the cluster answers with a text; everything was as usual before."""
    team.apply(config_map(a="1"))

    def begin(text: str) -> None:
        monkeypatch.setattr(connect, "open_transport", lambda cluster: Hostile(SandboxTransport(cluster), text))

    return begin


@pytest.mark.core(1)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.django_db
def test_an_odd_object_stops_no_scan_and_no_page(team: Team, attack, text: str):
    attack(text)

    scan = scans.request_scan(team.cluster, by=None)
    scans.scan_cluster(scan.pk)
    plan = team.plan(config_map(a="2"))

    scan = ClusterScan.objects.get(pk=scan.pk)
    assert (scan.finished_at is not None, scan.problem, scan.unread) == (True, "", ["ConfigMap"])
    assert plan.state == PlanState.COMPLETE
    assert "could not be read" in plan.changes.get().error
    client = Client()
    client.force_login(team.alice)
    for name in ("show-changes", "show-record", "show-overview"):
        address = reverse(f"reviews:{name}", args=[plan.review.number, plan.number])
        assert client.get(address).status_code == 200, name


@pytest.mark.django_db
def test_a_scan_ends_whatever_happens_in_it(team: Team, monkeypatch):
    """Else the recovery starts it again and again, and no other scan of the cluster begins."""

    def fail(*_given: object) -> None:
        raise RecursionError

    monkeypatch.setattr(scans, "_find_changed", fail)
    team.apply(config_map(a="1"))

    scan = scans.request_scan(team.cluster, by=None)
    scans.scan_cluster(scan.pk)

    scan.refresh_from_db()
    assert scan.finished_at is not None
    assert scan.problem == "an unexpected error stopped the scan (RecursionError)"


@pytest.mark.parametrize("levels", [1, MOST_NESTED, MOST_NESTED + 1])
@pytest.mark.parametrize(
    ("before", "inside", "after"),
    [
        ('{"a":', "{}", "}"),
        ("[", "[]", "]"),
        ('{"a\\\\":', "{}", "}"),
        ('{"}}\\"}":', "{}", "}"),
        ('{"z":[],"a":', "{}", ',"y":{}}'),
    ],
)
def test_levels_are_counted_whatever_texts_hold(before: str, inside: str, after: str, levels: int):
    text = before * (levels - 1) + inside + after * (levels - 1)

    assert is_nested_deeper(text.encode(), MOST_NESTED) is (levels > MOST_NESTED)


def test_usual_answers_are_read():
    listed = '{"kind":"AllowList","metadata":{"name":"a"},"items":["a"],"spec":{"pair":"\\ud83d\\ude00"}}'

    assert read_body(200, listed.encode())["spec"] == {"pair": "\U0001f600"}
    assert read_body(200, b'{"kind":"Status","metadata":{},"status":"Success"}')["status"] == "Success"
    assert read_body(200, nest(300).encode(), is_object=False)
    assert read_body(403, b"[]")["message"] == "the server answered 403 without a Status"
    with pytest.raises(UnreachableError, match=r"answered 201 with an object without readable metadata\.uid"):
        read_body(201, b'{"metadata":{"uid":[]}}')


def test_counting_levels_is_linear():
    def count(size: int) -> float:
        text = b"[" * size + b"]" * size
        return min(pace.measure(is_nested_deeper, text, MOST_NESTED)[1] for _ in range(7))

    # Both texts fit into the cache of a processor: a larger one takes longer for each character.
    assert count(800_000) < 6 * count(200_000)
