"""Repositories that a program names: fetched, pinned, and every refusal by its field."""

from __future__ import annotations

import pytest

from applyviz.records.models import Plan
from applyviz.sources.rendering.job import Rendered
from applyviz.workflow.plans import charts, planner
from tests.charts import folder
from tests.sources.git_server import GitRepository, serving_git
from tests.stories import Team, config_map
from tests.web.api.test_api import Program, body
from tests.web.reviews.test_chart_review import OUTPUT

pytestmark = pytest.mark.django_db


@pytest.fixture
def program():
    return Program(Team().alice)


@pytest.fixture
def repository():
    found = GitRepository()
    found.commit({"deploy/app.yaml": config_map(a="1").encode()})
    return found


@pytest.fixture
def sent(repository, settings):
    with serving_git({"/shop": repository}) as server:
        settings.APPLYVIZ_LINK_HOSTS = (server.origin,)
        asked = {name: value for name, value in body().items() if name != "files"}
        yield {**asked, "git_repository": server.url("/shop"), "git_path": "deploy"}


def test_program_opens_and_continues_a_review_of_a_repository(program, sent, repository):
    made = program.post("reviews/", sent)

    first = Plan.objects.get()
    assert (made.status_code, first.revision.provenance["git"]["path"]) == (201, "deploy")
    Plan.objects.update(state="failed")
    newer = repository.commit({"deploy/app.yaml": config_map(a="2").encode()})
    asked = {name: sent[name] for name in ("git_repository", "git_path")}
    again = program.post(f"reviews/{first.review.number}/plans/", {**asked, "git_ref": "main"})
    assert again.status_code == 201, again.content
    assert Plan.objects.get(number=2).revision.provenance["git"]["commit"] == newer


def test_every_file_that_is_not_taken_is_named_beside_the_problems_of_the_others(program, sent, repository):
    lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"
    repository.commit({"deploy/a.yaml": lfs, "deploy/b.yaml": lfs, "deploy/c.yaml": b"a: ["})

    refused = program.post("reviews/", sent)

    problems = [(p.get("field"), p.get("file")) for p in refused.json()["error"]["problems"]]
    assert refused.status_code == 422
    named = [("git_repository", "deploy/a.yaml"), ("git_repository", "deploy/b.yaml"), (None, "deploy/c.yaml")]
    assert problems == named


def test_plan_names_its_commit_and_its_sources_in_order(program, sent, repository):
    program.post("reviews/", {**sent, "files": [{"name": "more.yaml", "content": config_map("more", a="1")}]})

    source = program.get("reviews/1/").json()["source"]

    assert source["kinds"] == [{"kind": "upload", "files": 1}, {"kind": "git", "files": 1}]
    assert source["text"].startswith("1 file uploaded; 1 file from ")
    assert (source["links"], source["chart"]) == ([], None)
    commit = source["commit"]
    assert commit["id"] == repository.repo.head().decode()
    assert (commit["author"], commit["message"], commit["path"]) == ("Ada Lovelace", "Change things", "deploy")
    assert "branch main" in commit["ref"]


@pytest.mark.parametrize(
    ("values", "field", "text"),
    [
        ({"git_ref": "nope"}, "git_repository", "no branch and no tag nope"),
        ({"git_repository": ""}, "git_repository", "name the repository too"),
        ({"git_repository": 7}, "git_repository", "are text"),
        ({"kustomization": "x", "files": [{"name": "a.yaml", "content": "a"}]}, "kustomization", "not of both"),
    ],
)
def test_refusals_name_their_field(program, sent, values, field, text):
    refused = program.post("reviews/", {**sent, **values})

    problems = refused.json()["error"]["problems"]
    assert refused.status_code == 422
    assert any(problem["field"] == field and text in problem["message"] for problem in problems), problems


def test_chart_of_the_repository_is_rendered(program, sent, repository, monkeypatch):
    monkeypatch.setattr(charts, "make_runner", lambda socket: lambda job, limits: Rendered(0, OUTPUT, ""))
    files = {f"deploy/{name}": data for name, data in folder().items()}
    repository.commit({**files, "prod.yaml": b"color: red"})
    named = {name: value for name, value in sent.items() if name != "git_path"}
    given = {"chart": "deploy/shop", "chart_values_files": "prod.yaml", "chart_release": "web"}

    made = program.post("reviews/", {**named, **given})

    assert made.status_code == 201, made.content
    source = program.get("reviews/1/").json()["source"]
    assert {"name": "shop", "version": "1.2.3", "release": "web", "source": "deploy/shop"}.items() <= (
        source["chart"].items()
    )
    assert (source["commit"]["id"], source["commit"]["path"]) == (repository.repo.head().decode(), "deploy/shop")
    assert source["kinds"] == [{"kind": "git", "files": 4}]
    refused = program.post("reviews/", {**named, **given, "git_path": "deploy"})
    (problem,) = refused.json()["error"]["problems"]
    assert (problem["field"], "leave path and kustomization empty" in problem["message"]) == ("chart", True)


@pytest.mark.long
def test_commits_since_the_last_run_are_listed(monkeypatch, sent, repository):
    team = Team().wire_up(monkeypatch)
    program = Program(team.alice)
    program.post("reviews/", sent)
    planner.make_plan(Plan.objects.get().pk)
    team.work(team.start(Plan.objects.get()))
    newer = repository.commit({"deploy/app.yaml": config_map(a="2").encode()}, message="Raise a")
    program.post("reviews/", {**sent, "title": "Next"})
    planner.make_plan(Plan.objects.order_by("pk").last().pk)

    assert program.get("reviews/1/").json()["source_changes"] == []
    (found,) = program.get("reviews/2/").json()["source_changes"]

    assert found == {
        "kind": "git",
        "run": 1,
        "text": "1 commit, 1 file",
        "changed": [],
        "commits": [{"id": newer, "author": "Ada Lovelace", "message": "Raise a"}],
        "files": ["deploy/app.yaml"],
    }
