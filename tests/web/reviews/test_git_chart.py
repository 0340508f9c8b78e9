"""A chart inside a git repository: rendered from its commit, linked to it, rendered again, and followed."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.records.models import Plan, Review, SourceRevision
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.sources.charts.model import ChartSource
from applyviz.sources.git.model import GitSource
from applyviz.sources.rendering.job import Rendered, RenderJob
from applyviz.web.components.object_links import link_alone
from applyviz.web.reviews.pages.sources.provenance import describe_origin, link_template
from applyviz.web.reviews.pages.sources.source_changes import present_line
from applyviz.workflow.plans import changes, charts, git_sources
from applyviz.workflow.worker_requests import repositories
from tests.charts import archive, folder
from tests.following import PATH, Stage, make_session_authority, make_stage  # noqa: F401 - fixtures
from tests.keyless import go_without_keys
from tests.stories import config_map

ADD = reverse("reviews:add-review")
HOOK = "metadata: {name: migrate, annotations: {helm.sh/hook: pre-upgrade}}"
VALUES = {"values/prod.yaml": b"color: red\n", "values/eu.yaml": b"size: large\n"}
GREEN = {"values/prod.yaml": b"color: green\n"}
FORM = {"title": "Shop", "cluster": "box", "namespace": "default", "mode": "server", "field_manager": "ci"}
NAMED = {"chart": "deploy/shop", "chart_values_files": "values/prod.yaml\nvalues/eu.yaml"}


def render(job: RenderJob) -> bytes:
    """The output in place of helm's: a color from the first values file, a sub-chart, and a hook."""
    files = dict(job.files)
    color = files.get("values/1.yaml", b"color: blue").decode().strip().removeprefix("color: ")
    parts = {"shop/templates/settings.yaml": config_map(color=color)}
    parts["shop/charts/db/templates/db.yaml"] = config_map("db", a="1")
    if "chart/templates/migrate.yaml" in files or "chart.tgz" in files:
        parts["shop/templates/migrate.yaml"] = f"apiVersion: v1\nkind: ConfigMap\n{HOOK}\n"
    return "".join(f"---\n# Source: {name}\n{text}" for name, text in parts.items()).encode()


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[RenderJob]:
    """A program in place of helm; the jobs that it was given."""
    found: list[RenderJob] = []

    def run(job: RenderJob, limits: object) -> Rendered:
        del limits
        found.append(job)
        return Rendered(0, b"notes: hello\n" if "--show-only" in job.arguments else render(job), "")

    monkeypatch.setattr(charts, "make_runner", lambda socket: run)
    return found


def commit(stage: Stage, message: str = "Begin", changed: Mapping[str, bytes] = MappingProxyType({})) -> str:
    """Commit the chart below deploy, values files, and a file that has nothing to do with them."""
    files = {**{f"deploy/{name}": data for name, data in folder().items()}, **VALUES, "big.bin": b"\0"}
    return stage.repository.commit({**files, **changed}, message=message)


@pytest.fixture
def alice(stage: Stage, jobs: list[RenderJob]) -> Client:
    commit(stage)
    found = Client()
    found.force_login(stage.team.alice)
    return found


def bring(stage: Stage, client: Client, address: str = ADD, **values: str):
    given = {**FORM, "git_repository": stage.server.url(PATH), "git_ref": "main", **NAMED, **values}
    return client.post(address, given)


def text_of(answer) -> str:
    shown = re.sub(r"<[^>]+>", " ", answer.content.decode().replace("<wbr>", "").replace("\u200b", ""))
    return " ".join(html.unescape(shown).split())


def test_chart_and_values_of_the_repository_are_rendered_and_pinned_to_the_commit(stage, alice, jobs):
    answer = bring(stage, alice, chart_release="web")
    assert answer.status_code == 302, text_of(answer)

    plan = Plan.objects.get()
    sent = dict(jobs[0].files)
    assert jobs[0].arguments[:3] == ("template", "web", "./chart")
    assert (sent["values/1.yaml"], sent["values/2.yaml"]) == (b"color: red\n", b"size: large\n")
    assert "chart/Chart.yaml" in sent
    assert not any("big.bin" in name for name in sent)
    provenance, newest = plan.revision.provenance, stage.repository.repo.head().decode()
    assert (provenance["git"]["commit"], provenance["git"]["chart_path"]) == (newest, "deploy/shop")
    assert (provenance["chart"]["chart"], provenance["chart"]["release"]) == ("shop", "web")
    assert provenance["sources"] == [["git", 3]]
    files = {file.name: file.provenance for file in plan.revision.files.all()}
    assert files["shop/templates/settings.yaml"] == {
        "from": "helm",
        "template": "shop/templates/settings.yaml",
        "template_file": "deploy/shop/templates/settings.yaml",
        "git": newest,
    }
    assert files["shop/charts/db/templates/db.yaml"]["template_file"] == "deploy/shop/charts/db/templates/db.yaml"
    assert options_from_json(plan.options).left_out == ("core/ConfigMap//migrate",)


def test_object_leads_to_its_template_and_the_commit_that_changed_it(stage, alice):
    newest = commit(stage, "Say more", {"deploy/shop/templates/settings.yaml": b"# more\n"})
    bring(stage, alice)
    plan = stage.calculate(Review.objects.get())
    position = changes.read_masked(plan.changes.get(name="settings")).position
    origin = f"rendered by helm from deploy/shop/templates/settings.yaml at {newest[:10]}"

    assert describe_origin(plan, position.file) == origin
    line = present_line(plan, position)
    assert (line.where, line.commit.subject) == ("deploy/shop/templates/settings.yaml", "Say more")
    assert link_template(plan, position.file) == ""  # a host whose pages are not known
    facts = {**plan.revision.provenance}
    facts["git"] = {**facts["git"], "repository": "https://github.com/team/shop.git"}
    SourceRevision.objects.update(provenance=facts)
    plan.revision.refresh_from_db()
    page = f"https://github.com/team/shop/blob/{newest}/deploy/shop/templates/settings.yaml"
    assert link_template(plan, position.file) == page
    assert present_line(plan, position).url == page
    row = plan.changes.get(name="settings")
    pane = alice.get(link_alone(plan, row.position)).content.decode()
    assert f'href="{page}"' in pane
    overview = text_of(alice.get(reverse("reviews:show-overview", args=[1, 1])))
    assert f"at {newest[:10]} (branch main), chart shop 1.2.3 as release shop" in overview


def test_archive_in_the_repository_is_rendered_without_links_to_templates(stage, alice):
    stage.repository.commit({"charts/shop.tgz": archive()})

    assert bring(stage, alice, chart="charts/shop.tgz", chart_values_files="").status_code == 302

    assert all("template_file" not in file.provenance for file in Plan.objects.get().revision.files.all())


def test_uploaded_values_file_is_taken_before_that_of_the_repository(stage, alice, jobs):
    found = charts.name_in_repository(GitSource("r"), ChartSource("a", values_files=("values/prod.yaml", "b")), ["b"])
    assert found == GitSource("r", chart="a", values_files=("values/prod.yaml",))
    given = {**FORM, "git_repository": stage.server.url(PATH), "git_ref": "main", **NAMED}
    files = [SimpleUploadedFile("prod.yaml", GREEN["values/prod.yaml"])]
    answer = alice.post(ADD, {**given, "folder": files, "paths": json.dumps(["values/prod.yaml"])})

    assert answer.status_code == 302, text_of(answer)
    assert dict(jobs[0].files)["values/1.yaml"] == b"color: green\n"
    revision = Plan.objects.get().revision
    assert next(file.name for file in revision.files.all()) == "shop/templates/settings.yaml"
    assert git_sources.find_again(revision) is None  # a newer commit would be rendered without that file


@pytest.mark.long
def test_newer_commit_is_rendered_as_the_first_one(stage, alice, jobs):
    bring(stage, alice, chart_release="web", chart_hooks="on")
    Plan.objects.update(state="failed")
    page = alice.get(reverse("reviews:show-review", args=[1])).content.decode()
    form = page[page.index('name="again"') - 1500 : page.index('name="again"')]
    fields = {n: html.unescape(v) for n, v in re.findall(r'name="(\w+)" value="([^"]*)"', form, re.DOTALL)}
    assert fields["chart_values_files"] == NAMED["chart_values_files"]
    assert (fields["chart"], fields["chart_release"], fields["chart_hooks"]) == ("deploy/shop", "web", "on")
    newer = commit(stage, "Next", GREEN)

    answer = alice.post(reverse("reviews:replace-manifests", args=[1]), {**fields, "again": "on"})

    assert answer.status_code == 302, text_of(answer)
    plan = Plan.objects.get(number=2)
    assert plan.revision.provenance["git"]["commit"] == newer
    assert dict(jobs[-2].files)["values/1.yaml"] == b"color: green\n"
    assert options_from_json(plan.options).left_out == ()  # hooks are applied, as before


@pytest.mark.core(1)
@pytest.mark.parametrize("hooks", [False, True])
def test_push_renders_the_chart_again_and_keeps_the_choice_of_hooks(stage, alice, hooks):
    bring(stage, alice, follow="on", **({"chart_hooks": "on"} if hooks else {}))
    review = Review.objects.get()
    stage.calculate(review)
    before = stage.repository.repo.head().decode()
    after = commit(stage, "Next", GREEN)

    assert stage.push(before, after, login="alice") == 202
    stage.follow()

    plan = stage.calculate(review)
    assert (plan.number, plan.revision.provenance["git"]["commit"]) == (2, after)
    row = changes.read_masked(plan.changes.get(name="settings"))
    assert row.versions.manifest["data"] == {"color": "green"}
    assert bool(options_from_json(plan.options).left_out) is not hooks


@pytest.mark.long
def test_entered_values_are_not_kept_so_that_the_branch_cannot_be_followed(stage, alice):
    answer = bring(stage, alice, chart_values="color: pink", follow="on")

    assert answer.status_code == 422
    assert "from one branch of a repository" in text_of(answer)
    bring(stage, alice, chart_values="color: pink")
    assert "pink" not in json.dumps(Plan.objects.get().revision.provenance)
    assert git_sources.find_again(Plan.objects.get().revision) is None


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"chart": "deploy/none"}, "there is no deploy/none in this commit"),
        ({"chart": "deploy"}, "deploy is no chart: there is no deploy/Chart.yaml in the repository"),
        ({"chart": "../up"}, "leads out of its folder"),
        ({"chart": "deploy/*"}, "without wildcards"),
        ({"chart_values_files": "values/gone.yaml"}, "there is no values/gone.yaml in this commit"),
        ({"git_path": "deploy"}, "leave path and kustomization empty"),
        ({"kustomization": "deploy"}, "leave path and kustomization empty"),
        ({"chart": "values/prod.yaml"}, "is no archive"),
    ],
)
def test_refusals_say_what_to_do(stage, alice, values, said):
    answer = bring(stage, alice, **values)

    assert answer.status_code == 422
    assert said in text_of(answer)
    assert Review.objects.count() == 0


def test_worker_fetches_for_a_web_process_of_a_team(stage, alice, settings, monkeypatch, jobs):
    web = go_without_keys(settings, monkeypatch)

    answer = bring(stage, alice)

    assert answer.status_code == 302, text_of(answer)
    assert WorkerRequestKind.GIT in web.served
    assert dict(jobs[0].files)["values/2.yaml"] == b"size: large\n"


def test_source_travels_to_the_worker_whole():
    source = GitSource("https://h/r", "main", chart="a", values_files=("b", "c"))

    assert msgspec.convert(json.loads(json.dumps(msgspec.to_builtins(source))), GitSource) == source
    assert replace(source, chart="").paths == ("",)


def test_answer_of_a_worker_that_holds_something_else_is_no_source(stage, settings, monkeypatch):
    go_without_keys(settings, monkeypatch)
    files = [{"name": "a.yaml", "data": "not base64!"}]
    monkeypatch.setattr(repositories, "ask_sealed", lambda question, patience: {"files": files, "facts": {}})

    with pytest.raises(SourceError, match="cannot be read"):
        repositories.fetch_repository(GitSource("https://h/r"), stage.team.alice)
