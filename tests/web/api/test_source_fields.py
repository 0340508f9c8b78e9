"""Every refusal of a source names the field that is wrong, and no field about a source is ignored."""

from __future__ import annotations

from base64 import b64encode

import pytest

from applyviz.records.models import Plan, Review
from applyviz.sources.rendering.job import Rendered
from applyviz.workflow.plans import charts, git_sources
from tests.charts import archive, folder
from tests.sources.git_server import GitRepository, serving_git
from tests.stories import Team, config_map
from tests.web.api.test_api import Program, body
from tests.web.reviews.test_chart_review import OUTPUT

pytestmark = pytest.mark.django_db
ARCHIVE = {"name": "shop-1.2.3.tgz", "base64": b64encode(archive()).decode()}
VALUES = {"name": "values/prod.yaml", "content": "color: red"}
CHART = {"files": [ARCHIVE], "chart": "shop-1.2.3.tgz"}
FILE = {"files": [{"name": "more.yaml", "content": config_map("more", a="1")}]}
TREE = {"k/kustomization.yaml": b"resources: [a.yaml]\n", "k/a.yaml": config_map("k").encode()}


@pytest.fixture
def program():
    return Program(Team().alice)


@pytest.fixture
def jobs(monkeypatch):
    found = []

    def run(job, _limits):
        found.append(job)
        return Rendered(0, OUTPUT, "")

    monkeypatch.setattr(charts, "make_runner", lambda socket: run)
    return found


@pytest.fixture
def address(settings, jobs):
    repository = GitRepository()
    chart = {f"charts/{name}": data for name, data in folder().items()}
    repository.commit({"deploy/app.yaml": config_map(a="1").encode(), "values/prod.yaml": b"a: 1", **TREE, **chart})
    with serving_git({"/shop": repository}) as server:
        settings.APPLYVIZ_LINK_HOSTS = (server.origin,)
        yield server.url("/shop")


def ask(program, values, path="reviews/"):
    asked = {name: value for name, value in body().items() if name != "files"}
    return program.post(path, {**asked, **values} if path == "reviews/" else values)


def fields_of(answer):
    assert answer.status_code == 422, answer.content
    return {problem.get("field") for problem in answer.json()["error"]["problems"]}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({**CHART, "chart_release": "Web"}, "chart_release"),
        ({**CHART, "chart_version": "9.9.9"}, "chart_version"),
        ({**CHART, "chart_values_files": "gone.yaml"}, "chart_values_files"),
        ({"chart": "oci://h.example/shop"}, "chart_version"),
        ({"chart": "shop", "chart_repository": "oci://h.example", "chart_version": "1"}, "chart_repository"),
        ({"kustomization": "k", "links": ["https://h.example/a.yaml"]}, "kustomization"),
        ({"links": ["https://h.example/a.yaml"] * 2}, "links[1]"),
    ],
)
def test_wrong_part_of_a_source_is_the_field(program, jobs, values, field):
    assert fields_of(ask(program, values)) == {field}
    assert Review.objects.count() == 0


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"git_ref": "a b"}, "git_ref"),
        ({"git_path": "deploy/../k"}, "git_path"),
        ({"kustomization": "../k"}, "kustomization"),
        ({"git_ref": "nope", **FILE}, "git_repository"),
        ({"git_ref": "nope", **CHART}, "git_repository"),
        ({"chart": "charts/shop", "chart_values_files": "../x.yaml"}, "chart_values_files"),
    ],
)
def test_wrong_part_of_a_repository_is_the_field_beside_other_sources_too(program, address, values, field):
    assert fields_of(ask(program, {"git_repository": address, **values})) == {field}


@pytest.mark.parametrize(
    "values",
    [
        {"git_ref": "main"},
        {"git_path": "deploy"},
        {"kustomization": "k"},
        {"chart_values": "a: 1"},
        {"chart_hooks": "apply"},
        {"chart_version": "1.2.3"},
    ],
)
def test_next_plan_refuses_a_part_without_its_source(program, values):
    assert program.post("reviews/", body(config_map(a="1"))).status_code == 201
    Plan.objects.update(state="failed")

    assert fields_of(ask(program, values, "reviews/1/plans/")) == set(values)
    assert Plan.objects.count() == 1


def test_source_without_an_object_is_named(program, monkeypatch):
    monkeypatch.setattr(charts, "make_runner", lambda socket: lambda job, limits: Rendered(0, b"", ""))

    assert fields_of(ask(program, {"files": [ARCHIVE], "chart": ARCHIVE["name"]})) == {"chart"}


@pytest.mark.core(1)
@pytest.mark.parametrize("values", ["./values/prod.yaml", "/values/prod.yaml", "values//prod.yaml"])
def test_values_file_has_one_name_however_it_is_written(program, jobs, address, values):
    uploaded = ask(program, {**CHART, "files": [ARCHIVE, VALUES], "chart_values_files": values})
    of_commit = {"git_repository": address, "chart": "charts/shop", "chart_values_files": values}
    fetched = ask(program, of_commit)

    assert (uploaded.status_code, fetched.status_code) == (201, 201), (uploaded.content, fetched.content)
    assert all("values/1.yaml" in dict(job.files) for job in jobs)


@pytest.mark.core(1)
@pytest.mark.parametrize("path", ["./deploy/", "/deploy", "deploy//", "././deploy"])
def test_path_of_a_repository_is_stored_as_the_repository_names_it(program, address, path):
    made = ask(program, {"git_repository": address, "git_path": path})

    assert made.status_code == 201, made.content
    assert Plan.objects.get().revision.provenance["git"]["path"] == "deploy"


def test_folder_of_a_kustomization_is_stored_as_the_repository_names_it(program, address, monkeypatch):
    output = config_map("k").encode()
    monkeypatch.setattr(git_sources, "make_runner", lambda socket: lambda job, limits: Rendered(0, output, ""))
    made = ask(program, {"git_repository": address, "kustomization": "./k/"})

    assert made.status_code == 201, made.content
    revision = Plan.objects.get().revision
    assert (revision.provenance["git"]["kustomization"], revision.files.get().name) == ("k", "k.rendered.yaml")
