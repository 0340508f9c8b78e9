"""Several sources in one review: their order, the provenance of each document, twins, and limits over all of them."""

from __future__ import annotations

import html
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from applyviz.engine.objects.errors import SourceError
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, Plan, Review, SourceFile
from applyviz.sources import url
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.rendering.job import Rendered
from applyviz.web.reviews.pages.sources.provenance import describe_origin
from applyviz.workflow.plans import charts, source_mix
from tests.charts import archive
from tests.sources.git_server import GitRepository, serving_git
from tests.sources.servers import make_authority
from tests.web import rows

ADD, CHECK = reverse("reviews:add-review"), reverse("reviews:check-source")
PATH = "/team/shop.git"
LINKS = ["https://a.example/first.yaml?token=canary", "https://b.example/app.yaml"]
KINDS = [["upload", 1], ["helm", 1], ["paste", 1], ["link", 2], ["git", 1]]


def config(name: str, namespace: str = "") -> bytes:
    where = f"\n  namespace: {namespace}" if namespace else ""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}{where}\ndata:\n  a: b\n".encode()


def answer_link(link, **_):
    name = link.rpartition("/")[2].partition("?")[0]
    return BundledFile(name, config(f"of-{link[8]}"), {"from": "link", "url": link, "final_url": link})


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def repository() -> GitRepository:
    found = GitRepository()
    found.commit({"app.yaml": config("of-git")})
    return found


@pytest.fixture
def fill(authority, repository, settings, monkeypatch):
    """Every source at once: an upload, a chart, a paste, two links and a repository."""
    output = b"---\n# Source: shop/templates/app.yaml\n" + config("of-chart")
    run = lambda job, limits: Rendered(0, b"" if "--show-only" in job.arguments else output, "")  # noqa: E731
    monkeypatch.setattr(charts, "make_runner", lambda socket: run)
    monkeypatch.setattr(url, "fetch", answer_link)
    rows.make_cluster()
    form = {"title": "Mix", "cluster": "shop", "namespace": "shop", "mode": "server", "field_manager": "ci"}
    with serving_git({PATH: repository}, authority.context("localhost")) as server:
        settings.APPLYVIZ_LINK_HOSTS = (server.origin,)
        settings.APPLYVIZ_LINK_CA_FILE = str(authority.file)
        sources = {
            "chart": "shop-1.2.3.tgz",
            "text": config("of-paste").decode(),
            "links": "\n".join(LINKS),
            "git_repository": server.url(PATH),
        }

        def make(**values):
            uploads = [SimpleUploadedFile("app.yaml", config("of-upload"))]
            uploads += [SimpleUploadedFile("shop-1.2.3.tgz", archive())]
            return {**form, **sources, "manifests": uploads, **values}

        yield make


def read(answer) -> str:
    return html.unescape(re.sub(r"<wbr>", "", answer.content.decode()))


def test_every_source_goes_into_one_review_in_a_stated_order(as_alice, fill):
    answer = as_alice.post(ADD, fill())
    assert answer.status_code == 302, read(answer)
    plan = Plan.objects.get()

    assert plan.revision.provenance["sources"] == KINDS
    files = list(SourceFile.objects.order_by("position").values_list("name", flat=True))
    assert files[:5] == ["app.yaml", "shop/templates/app.yaml", "pasted.yaml", "first.yaml", "b.example/app.yaml"]
    assert files[5].startswith("localhost")
    record = read(as_alice.get(reverse("reviews:show-record", args=[1, 1])))
    for told in ("uploaded", "rendered by helm from", "pasted", "https://a.example/first.yaml", "from the repository"):
        assert told in record
    assert "canary" not in record
    requested = AuditEntry.objects.get(action=AuditAction.PLAN_REQUESTED).detail
    assert requested["sources"] == ["1 upload", "1 helm", "1 paste", "2 link", "1 git"]


def test_overview_and_each_object_say_where_documents_come_from(as_alice, fill):
    as_alice.post(ADD, fill())
    plan = Plan.objects.get()

    overview = read(as_alice.get(reverse("reviews:show-plan", args=[1, 1])))
    assert "1 file uploaded; 1 file with chart shop 1.2.3 as release shop; pasted text;" in overview
    assert "2 files from a.example, b.example; 1 file from localhost" in overview
    assert describe_origin(plan, "app.yaml") == "uploaded"
    assert describe_origin(plan, "first.yaml") == "fetched https://a.example/first.yaml"
    assert describe_origin(plan, "nowhere.yaml") == ""


def test_object_of_two_sources_is_refused_with_both_places(as_alice, fill):
    twin = config("of-git", "shop").decode()
    answer = as_alice.post(ADD, fill(text=twin + "---\n" + config("of-upload").decode()))
    page = read(answer)

    assert answer.status_code == 422
    assert "ConfigMap of-git of the repository https://localhost" in page
    assert "is in the pasted text too, at pasted.yaml:1" in page
    assert "of the pasted text is in the upload too, at app.yaml:1:1: keep it in one of them" in page
    assert Review.objects.count() == 0


def test_same_name_in_another_namespace_is_another_object(as_alice, fill):
    assert as_alice.post(ADD, fill(text=config("of-git", "other").decode())).status_code == 302


def test_check_of_the_form_names_twins_at_once(as_alice, fill):
    given = fill(chart="", text=config("of-upload").decode())
    given["manifests"] = given["manifests"][:1]

    assert "is in the upload too, at app.yaml:1" in read(as_alice.post(CHECK, given))


def test_limits_hold_for_all_sources_together(as_alice, fill, monkeypatch):
    monkeypatch.setattr(source_mix, "MOST_FILES", 5)
    assert "all sources have more than 5 files together" in read(as_alice.post(ADD, fill()))

    monkeypatch.setattr(source_mix, "MOST_FILES", 6)
    assert as_alice.post(ADD, fill()).status_code == 302
    with pytest.raises(SourceError, match="larger than 20,971,520 bytes together"):
        source_mix.check_limits(SourceBundle((BundledFile("a", b"x" * (source_mix.MOST_BYTES + 1)),)))


def test_twice_in_one_source_stays_a_problem_of_the_plan(as_alice, fill):
    text = (config("twice") + b"---\n" + config("twice")).decode()

    assert as_alice.post(ADD, fill(text=text)).status_code == 302


def refuse_link(link, **_):
    raise SourceError(f"{link[8]} does not answer")


def test_every_source_that_fails_is_named_at_once(as_alice, fill, monkeypatch):
    monkeypatch.setattr(url, "fetch", refuse_link)
    given = fill(text="a: [", git_path="nowhere.yaml", namespace="Not A Name", links=LINKS[1])
    page = read(as_alice.post(ADD, given))

    for told in ("Use lowercase letters", "b does not answer", "pasted.yaml:2:1", "nowhere.yaml"):
        assert told in page
    assert "canary" not in page
    assert "is the archive of a Helm chart" not in page, "it is named as the chart, which waits for the namespace"
    assert Review.objects.count() == 0


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"


def test_files_of_sources_that_are_refused_keep_their_problems(as_alice, fill, repository, monkeypatch):
    """The readable files of a source are parsed although other files, or other sources, are refused."""

    def answer(link, **_):
        if link == LINKS[1]:
            return refuse_link(link)
        return BundledFile("first.yaml", b"kind: [", {"from": "link", "url": link, "final_url": link})

    monkeypatch.setattr(url, "fetch", answer)
    repository.commit(
        {"app.yaml": b"a:\n  - b: [", "big.yaml": LFS, "bigger.yaml": LFS, "twin.yaml": config("of-upload")}
    )
    uploads = [SimpleUploadedFile("app.yaml", config("of-upload"))]
    uploads += [SimpleUploadedFile("broken.tgz", b"no archive"), SimpleUploadedFile("odd.yaml", b"{")]
    page = read(as_alice.post(ADD, fill(manifests=uploads, chart="")))
    assert "b does not answer" in page
    assert "first.yaml:2:1" in page
    assert "broken.tgz" in page
    assert "odd.yaml:1:2" in page
    text = re.sub(r"<[^>]*>", "", page)
    assert "big.yaml: stored in Git LFS" in text
    assert "bigger.yaml: stored in Git LFS" in text
    assert re.search(r"localhost\S*app\.yaml:3:1", text)
    assert "of the repository" in page
    assert "is in the upload too, at app.yaml:1:1" in page
    assert Review.objects.count() == 0


def test_objects_of_two_sources_do_not_hide_the_problems_of_files(as_alice, fill):
    twin = config("of-upload").decode() + "---\nkind: [\n"
    page = read(as_alice.post(ADD, fill(text=twin)))

    assert "is in the upload too" in page
    assert "pasted.yaml:9" in page


def test_sources_of_a_refused_form_are_read(as_alice, fill):
    given = fill(title="", text="a: [", links="http://a.example/x.yaml", git_repository="")
    page = read(as_alice.post(ADD, given))

    assert "Only HTTPS URLs are supported" in page
    assert "pasted.yaml:2:1" in page
    assert "of-upload" in page


def test_empty_form_is_refused_once(as_alice, fill):
    page = read(as_alice.post(ADD, {**fill(manifests=[], chart="", text="", links="", git_repository="")}))

    assert "Add at least one manifest" in page
    assert "There is no object here" not in page
