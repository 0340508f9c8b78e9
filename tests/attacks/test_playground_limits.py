"""Visitors without an account put hostile questions: they cost a bounded child each, and nobody else waits."""

from __future__ import annotations

from functools import partial

import pytest
from django.test import Client

from applyviz.engine.objects.structs import replace
from applyviz.engine.requests.options import ApplyMode
from applyviz.guide import limited, playground, whole_channels, whole_sets
from applyviz.guide.given import PlaygroundQuery, PlaygroundQueryError, PlaygroundQueryProblem
from applyviz.guide.given_channels import HEADER, ChannelQuery
from applyviz.records.enums import Role
from applyviz.records.models import PlaygroundInput
from applyviz.web.playground import (
    answering,
    answers,
    channel_answering,
    pages,
    questions,
    set_answering,
)
from applyviz.web.reviews.pane.object_content import ObjectView
from tests.builders import make_person
from tests.pace import measure

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flags}\ndata: {theme: light}\n"


def ask(client: Client, manifest: str = MANIFEST, **meta):
    return client.post("/playground/", {"mode": "server", "field_manager": "shop", "manifest": manifest}, **meta)


@pytest.fixture
def alice() -> Client:
    client = Client()
    client.force_login(make_person("alice", Role.AUTHOR))
    return client


def test_nothing_is_computed_in_the_web_process(client, monkeypatch):
    def refuse(*_given, **_named):
        raise AssertionError("the web process must not compute what a visitor sent")

    for name in ("explain", "read", "without_secrets", "mask", "parse_manifests"):
        monkeypatch.setattr(playground, name, refuse)
    for name in ("present_alone", "render_to_string", "render_answer"):
        monkeypatch.setattr(answering, name, refuse)
    monkeypatch.setattr(pages, "render_answer", refuse)

    asked = ask(client)
    address = asked.headers["Location"].partition("#")[0]
    shown = [client.get(f"{address}{tab.value}/") for tab in ObjectView]
    other = client.get(f"{address}diff/?split=1")

    assert asked.status_code == 302
    assert [page.status_code for page in (*shown, other)] == [200] * 6
    assert ["theme" in page.content.decode().partition('id="pane"')[2] for page in (*shown, other)] == [True] * 6


def test_no_set_is_computed_in_the_web_process(client, monkeypatch):
    def refuse(*_given, **_named):
        raise AssertionError("the web process must not compute what a visitor sent")

    for name in ("explain_set", "without_secrets", "read_text", "mask"):
        monkeypatch.setattr(whole_sets, name, refuse)
    monkeypatch.setattr(set_answering, "render_to_string", refuse)
    monkeypatch.setattr(questions, "render_set", refuse)
    monkeypatch.setattr(questions.QuestionKind, "list_groups", lambda *_: ())

    asked = client.post("/playground/sets/", {"prune": "delete", "manifest": MANIFEST, "cluster": MANIFEST})
    shown = client.get(asked.headers["Location"].partition("#")[0])

    assert (asked.status_code, shown.status_code) == (302, 200)
    assert "kubectl delete -f" in shown.content.decode()


def test_no_channel_is_computed_in_the_web_process(client, monkeypatch):
    def refuse(*_given, **_named):
        raise AssertionError("the web process must not compute what a visitor sent")

    for name in ("explain_channel", "without_secrets", "read_text", "mask", "read_addons"):
        monkeypatch.setattr(whole_channels, name, refuse)
    monkeypatch.setattr(channel_answering, "render_to_string", refuse)
    monkeypatch.setattr(questions, "render_channel", refuse)
    monkeypatch.setattr(questions.QuestionKind, "list_groups", lambda *_: ())

    asked = client.post("/playground/channels/", write_channel(1).to_json())
    shown = client.get(asked.headers["Location"].partition("#")[0])

    assert (asked.status_code, shown.status_code) == (302, 200)
    assert "channels apply channel" in shown.content.decode()


def write_channel(count: int) -> ChannelQuery:
    """Return a question about a channel whose addons are all installed, updated and pruned."""
    numbers = range(count)
    entries = "".join(
        f'  - {{name: a{n}, manifest: a{n}.yaml, id: "2", kubernetesVersion: "<1.2.0 || >=1.30.0", needsPKI: true, '
        f"prune: {{kinds: [{{kind: ConfigMap, namespaces: [s], labelSelector: a=a{n}}}]}}}}\n"
        for n in numbers
    )
    one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, namespace: s, labels: {a: LABEL}}}\n"
    files = "".join(f"{HEADER}a{n}.yaml\n{one.replace('NAME', f'new-{n}').replace('LABEL', f'a{n}')}" for n in numbers)
    notes = "".join(f'    addons.k8s.io/a{n}: \'{{"id":"1"}}\'\n' for n in numbers)
    space = f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: kube-system\n  annotations:\n{notes}"
    return ChannelQuery(f"kind: Addons\nspec:\n  addons:\n{entries}", files, space)


@pytest.mark.core(1)
def test_addons_of_a_channel_cost_time_in_proportion():
    def explain(count: int) -> float:
        given = whole_channels.without_secrets(write_channel(count))
        render = partial(channel_answering.render_channel, given, now="2026-01-01T00:00:00Z")
        return min(measure(render)[1] for _ in range(2))

    small, large = explain(20), explain(80)

    assert large / small < 8, f"four times the size took {large / small:.1f} times as long"


def test_channel_that_is_too_large_for_a_visitor_is_refused(client):
    asked = client.post("/playground/channels/", {**write_channel(1).to_json(), "cluster": "#" * 70_000})

    assert asked.status_code == 422
    assert "without signing in" in asked.content.decode()


def test_set_that_is_too_large_for_a_visitor_is_refused(client):
    asked = client.post("/playground/sets/", {"prune": "none", "manifest": MANIFEST, "cluster": "#" * 70_000})

    assert asked.status_code == 422
    assert "without signing in" in asked.content.decode()


def write_deployment(count: int, word: str) -> str:
    """Return a Deployment with many variables."""
    variables = ", ".join(f"{{name: V{n}, value: {word}{n}}}" for n in range(count))
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\nspec:\n  selector: {matchLabels: {a: b}}\n"
        "  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n"
        f"      - {{name: a, image: b, env: [{variables}]}}\n"
    )


@pytest.mark.long
@pytest.mark.parametrize("mode", ApplyMode)
def test_web_process_spends_no_time_on_a_large_question(client, mode, monkeypatch):
    monkeypatch.setattr("tests.conftest.flatten", lambda page: page)  # work of the tests, not of the product
    manifest, live = write_deployment(1_150, "a"), write_deployment(1_150, "b")
    given = {"mode": mode.value, "field_manager": "shop", "manifest": manifest, "live": live}
    client.get("/playground/")  # templates are loaded once
    answered = []

    seconds = [measure(lambda: answered.append(client.post("/playground/", given)))[1]]
    address = answered[0].headers.get("Location", "/playground/").partition("#")[0]
    addresses = [f"{address}{tab.value}/" for tab in ObjectView] if address != "/playground/" else []
    # The least of three: garbage of other tests may be collected meanwhile.
    seconds += [min(measure(client.get, one)[1] for _ in range(3)) for one in addresses]

    assert len(manifest) + len(live) > 60_000
    assert answered[0].status_code == 302, "its child has five seconds of computing"
    assert max(seconds) < 0.3


def test_child_renders_what_the_web_process_would(client):
    example = client.get("/playground/maps-1/diff/?split=1").content.decode()
    given = pages.find_question("maps-1", pool=limited.PEOPLE).given
    form = {**given.to_json(), "takes_client_side": "on" if given.takes_client_side else ""}
    asked = client.post("/playground/", form)
    address = asked.headers["Location"].partition("#")[0]

    rendered = client.get(f"{address}diff/?split=1").content.decode()

    pane = example.partition('id="pane"')[2].partition("</section>")[0].replace("/playground/maps-1/", address)
    assert rendered.partition('id="pane"')[2].partition("</section>")[0] == pane


def test_kept_answers_are_bounded(monkeypatch):
    monkeypatch.setattr(answers, "KEPT_CHARACTERS", 100)
    monkeypatch.setattr(answers, "KEPT_PER_ANSWER", 50)
    kept, given = answers._KeptAnswers(), PlaygroundQuery("x")

    for key in "abcd":
        for tab in range(4):
            kept.add(key, answers.RenderedAnswer(given, None, (), {f"{tab}": "x" * 20}))

    found = [kept.find(key) for key in "abcd"]
    assert [sorted(answer.panes) if answer else [] for answer in found] == [[], [], ["2", "3"], ["2", "3"]]


def test_question_that_burns_the_processor_ends_in_its_child(client, monkeypatch):
    monkeypatch.setattr(answers, "CHILD", "tests.attacks.burning_child")
    monkeypatch.setattr(limited, "LIMITS", replace(limited.LIMITS, cpu_seconds=1))

    refused, seconds = measure(ask, client)

    assert refused.status_code == 422
    assert "computing it took longer than 1 seconds of computing" in refused.content.decode()
    assert seconds < 0.7
    assert not PlaygroundInput.objects.exists()


def test_limits_are_those_that_are_promised():
    assert (limited.LIMITS.cpu_seconds, limited.VISITOR_BYTES) == (5, 64 * 1024)


def test_visitors_are_answered_one_at_a_time_and_keep_nobody_else_waiting(client, alice, monkeypatch):
    monkeypatch.setattr(limited, "VISITORS", replace(limited.VISITORS, wait_seconds=0.01))
    with limited.VISITORS.take_turn():
        visitor, person = ask(client), ask(alice)

    assert visitor.status_code == 422
    assert "ask again in a moment" in visitor.content.decode()
    assert person.status_code == 302
    assert ask(client).status_code == 302


def test_visitor_may_send_64_kilobytes(client, alice):
    large = MANIFEST + "# " + "x" * limited.VISITOR_BYTES + "\n"

    refused, taken = ask(client, large), ask(alice, large)

    assert refused.status_code == 422
    assert "at most 65,536" in refused.content.decode()
    assert taken.status_code == 302


def test_address_may_ask_ten_questions_a_minute(client, monkeypatch):
    def refuse(*_asked):
        raise PlaygroundQueryError((PlaygroundQueryProblem("manifest", "this cannot be read"),))

    monkeypatch.setattr(answers, "ask", refuse)  # eleven processes may take longer than a minute
    statuses = [ask(client, "{").status_code for _ in range(11)]

    assert statuses == [422] * 10 + [429]
