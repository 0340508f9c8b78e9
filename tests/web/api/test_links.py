"""Links that a program brings: which are fetched, and what is said of each that fails."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.records.models import Plan
from applyviz.sources import url
from applyviz.sources.bundle import BundledFile
from tests.stories import Team, config_map
from tests.web.api.test_api import Program, body

pytestmark = pytest.mark.django_db


@pytest.fixture
def program():
    return Program(Team().alice)


def test_each_link_that_cannot_be_fetched_is_named(program, monkeypatch):
    monkeypatch.setattr(url, "fetch", refuse_odd)
    sent = {**body(), "files": [], "links": ["https://a.example/1", "https://a.example/2", "https://a.example/3"]}

    refused = program.post("reviews/", sent)

    problems = [(p["field"], p["message"]) for p in refused.json()["error"]["problems"]]
    assert (refused.status_code, problems) == (422, [("links[0]", "odd"), ("links[2]", "odd")])
    again = program.post("reviews/", {**sent, "links": ["https://a.example/2"]})
    assert (again.status_code, Plan.objects.get().revision.provenance["links"]) == (201, ["https://a.example/2"])


def refuse_odd(link, **_):
    if int(link[-1]) % 2:
        raise SourceError("odd")
    return BundledFile("a.yaml", config_map(a="1").encode(), {"from": "link", "url": link, "final_url": link})


@pytest.mark.parametrize("links", ["https://a.example", [1], [""], ["https://a.example"] * 21])
def test_links_are_a_short_list_of_texts(program, links):
    refused = program.post("reviews/", {**body(), "links": links})

    assert refused.status_code == 422
    assert refused.json()["error"]["problems"][0]["field"].startswith("links")


def test_object_of_a_file_and_a_link_is_named_at_both_places(program, monkeypatch):
    monkeypatch.setattr(url, "fetch", refuse_odd)
    sent = {**body(config_map(a="2")), "links": ["https://a.example/2"]}

    (problem,) = program.post("reviews/", sent).json()["error"]["problems"]

    assert problem["file"] == "a.yaml"
    assert problem["line"] == 1
    assert "is in the upload too, at 0.yaml:1" in problem["message"]


def test_link_that_fails_hides_no_problem_of_the_files(program, monkeypatch):
    monkeypatch.setattr(url, "fetch", refuse_odd)
    files = [{"name": "bad.yaml", "content": "a: ["}]

    refused = program.post("reviews/", {**body(), "files": files, "links": ["https://a.example/1"]})

    problems = [(p.get("field"), p.get("file")) for p in refused.json()["error"]["problems"]]
    assert (refused.status_code, problems) == (422, [("links[0]", None), (None, "bad.yaml")])


def test_link_that_fails_hides_no_advice(program, monkeypatch):
    monkeypatch.setattr(url, "fetch", refuse_odd)
    typed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {public: y}}\n"
    files = [{"name": "typed.yaml", "content": typed}]

    refused = program.post("reviews/", {**body(), "files": files, "links": ["https://a.example/1"]})

    assert "`y` is read as true: quote it" in refused.json()["error"]["problems"][1]["message"]
