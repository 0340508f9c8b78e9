"""Reviews of a git repository: opened in the form, shown with their commit, fetched again; by a worker in a team."""

import html
import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.urls import reverse

from applyviz.engine.objects.errors import SourcePosition
from applyviz.records.enums import AuditAction
from applyviz.records.models import (
    AuditEntry,
    Plan,
    Review,
    SourceFile,
    SourceRevision,
    WorkerRequest,
)
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.sources.git.blame import UNCOMPARED
from applyviz.sources.git.model import GitSource
from applyviz.web.reviews.pages.sources.provenance import link_page
from applyviz.web.reviews.pages.sources.source_changes import present_line
from applyviz.workflow.plans import channels, git_history, git_sources, intake
from tests.keyless import go_without_keys
from tests.sources.git_server import GitRepository, serving_git
from tests.sources.servers import make_authority
from tests.web import rows

URL = reverse("reviews:add-review")
APP = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  a: b\n"
PATH = "/team/shop.git"
CHANNEL = b"""kind: Addons
metadata: {name: shop}
spec:
  addons:
    - {name: dns, manifest: addons/dns.yaml}
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def repository():
    found = GitRepository()
    found.commit({"deploy/app.yaml": APP % b"flags", "deploy/notes.md": b"x"}, message="Say <b>more</b>\n\nWhy.")
    return found


@pytest.fixture
def server(repository, authority, settings):
    with serving_git({PATH: repository}, authority.context("localhost")) as found:
        settings.APPLYVIZ_LINK_HOSTS = (found.origin,)
        settings.APPLYVIZ_LINK_CA_FILE = str(authority.file)
        yield found


@pytest.fixture
def fill(server):
    rows.make_cluster()
    form = {"title": "Flags", "cluster": "shop", "namespace": "shop", "mode": "server", "field_manager": "ci"}
    return lambda **values: {**form, "git_repository": server.url(PATH), "git_path": "deploy", **values}


def finish(plan):
    """End planning without a worker, so that the next plan can be requested."""
    Plan.objects.filter(pk=plan.pk).update(state="failed")


def read(browser, name, *args):
    return html.unescape(re.sub(r"<wbr>", "", browser.get(reverse(name, args=args)).content.decode()))


def test_repository_opens_a_review_pinned_to_its_commit(as_alice, fill, repository, server):
    answer = as_alice.post(URL, fill())

    assert answer.status_code == 302
    commit = repository.repo.head().decode()
    plan = Plan.objects.get()
    facts = plan.revision.provenance["git"]
    assert (facts["commit"], facts["ref"], facts["repository"]) == (commit, "main", server.url(PATH))
    file = plan.revision.files.get()
    assert (file.name, file.provenance) == ("deploy/app.yaml", {"from": "git", "git": commit, "blame": "1,6,0"})
    requested = AuditEntry.objects.get(action=AuditAction.PLAN_REQUESTED)
    assert requested.detail["git"] == {"repository": server.url(PATH), "ref": "main", "commit": commit}
    record = read(as_alice, "reviews:show-record", 1, 1)
    for text in (
        commit[:10],
        "Ada Lovelace",
        "branch main",
        "Say <b>more</b>",
        "from the repository",
        "/team/shop.git",
    ):
        assert text in record
    assert "<b>more</b>" not in as_alice.get(reverse("reviews:show-record", args=[1, 1])).content.decode()
    assert "ada@example.org" not in record


def test_repository_joins_files_and_a_name_that_is_taken_becomes_longer(as_alice, fill):
    answer = as_alice.post(URL, fill(text=(APP % b"pasted").decode(), git_path="deploy/app.yaml"))

    assert answer.status_code == 302
    assert sorted(SourceFile.objects.values_list("name", flat=True)) == ["deploy/app.yaml", "pasted.yaml"]
    assert git_sources.find_again(Plan.objects.get().revision) is None


@pytest.mark.core(2)
@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"git_ref": "nope"}, "has no branch and no tag nope"),
        ({"git_path": "nowhere"}, "there is no nowhere in this commit"),
        ({"git_path": "../up"}, "leads out of its folder"),
        ({"git_repository": "git@host:a.git"}, "no deploy key is registered for host/a.git"),
        ({"git_repository": "", "git_ref": "main"}, "Enter the address of the repository."),
        ({"git_repository": "", "git_path": ""}, "Add at least one manifest"),
    ],
)
def test_what_cannot_be_fetched_is_said_on_the_form(as_alice, fill, values, text):
    answer = as_alice.post(URL, fill(**values))

    assert answer.status_code == 422
    assert text in html.unescape(answer.content.decode())
    assert Review.objects.count() == 0


def test_form_keeps_what_was_entered(as_alice, fill, server):
    shown = as_alice.post(URL, fill(git_ref="nope")).content.decode()

    assert f'value="{server.url(PATH)}"' in shown
    assert 'value="nope"' in shown


def test_fetching_again_pins_the_newer_commit_or_says_that_there_is_none(as_alice, fill, repository):
    as_alice.post(URL, fill())
    finish(Plan.objects.get())
    page = read(as_alice, "reviews:show-review", 1)
    assert "Fetch main again" in page
    again = reverse("reviews:replace-manifests", args=[1])
    fields = {**fill(again="on"), "git_ref": ""}

    same = as_alice.post(again, fields, follow=True)
    assert "main is still at" in html.unescape(same.content.decode())
    assert Plan.objects.count() == 1
    newer = repository.commit({"deploy/app.yaml": APP % b"newer"})
    answer = as_alice.post(again, fields)

    assert answer.status_code == 302
    assert Plan.objects.get(number=2).revision.provenance["git"]["commit"] == newer


@pytest.mark.long
def test_fixed_commit_is_not_fetched_again(as_alice, fill, repository):
    as_alice.post(URL, fill(git_ref=repository.repo.head().decode()))
    finish(Plan.objects.get())

    assert "again</button>" not in read(as_alice, "reviews:show-review", 1)


def test_check_of_a_form_fetches_nothing(as_alice, fill, server):
    as_alice.post(reverse("reviews:check-source"), fill(text="a: b"))

    assert server.seen == []


def test_viewer_cannot_make_the_server_fetch(as_viewer, fill, server):
    assert as_viewer.post(URL, fill()).status_code == 403
    assert server.seen == []


@pytest.mark.long
def test_worker_fetches_for_a_web_process_of_a_team(as_alice, fill, settings, monkeypatch):
    web = go_without_keys(settings, monkeypatch)

    answer = as_alice.post(URL, fill())

    assert answer.status_code == 302, html.unescape(answer.content.decode())
    assert web.served == [WorkerRequestKind.GIT]
    assert WorkerRequest.objects.count() == 0
    refused = as_alice.post(URL, fill(git_ref="nope"))
    assert "has no branch and no tag nope" in html.unescape(refused.content.decode())


def test_without_a_worker_the_form_says_so(as_alice, fill, settings, monkeypatch):
    web = go_without_keys(settings, monkeypatch)
    web.works = False
    monkeypatch.setattr("applyviz.workflow.worker_requests.repositories._PATIENCE", timedelta(seconds=0.2))

    answer = as_alice.post(URL, fill())

    assert "No worker answered in time" in html.unescape(answer.content.decode())


def finish_run(plan, by):
    """A run that applied a plan, before the plans that follow."""
    Plan.objects.filter(pk=plan.pk).update(state="complete", digest="digest")
    plan.refresh_from_db()
    run = rows.make_run(plan, by, state="applied")
    assert run.created_at < Plan.objects.latest("pk").created_at
    return run


def test_overview_lists_the_commits_since_the_last_run(as_alice, bob, fill, repository):
    form = fill()
    as_alice.post(URL, form)
    finish_run(Plan.objects.get(), bob)
    kept = {"deploy/notes.md": b"x"}
    repository.commit({**kept, "deploy/app.yaml": APP % b"first", "src/x.py": b"x"}, message="Name it first")
    newest = repository.commit({**kept, "deploy/app.yaml": APP % b"second"}, author="Bob <bob@b.example>")
    as_alice.post(URL, form)
    finish(Plan.objects.latest("pk"))

    page = read(as_alice, "reviews:show-review", 2)

    assert "Changed in the source since" in page
    assert "2 commits, 1 file" in page
    assert newest[:10] in page
    for text in ("Name it first", "Bob", "deploy/app.yaml"):
        assert text in page
    assert "src/x.py" not in page
    assert "bob@b.example" not in page


@pytest.mark.long
def test_overview_says_when_nothing_changed_or_the_branch_was_rewritten(as_alice, bob, fill):
    form = fill()
    as_alice.post(URL, form)
    run = finish_run(Plan.objects.get(), bob)
    as_alice.post(URL, form)
    finish(Plan.objects.latest("pk"))

    assert "no newer commit is in this plan" in read(as_alice, "reviews:show-review", 2)
    facts = {**run.plan.revision.provenance}
    facts["git"] = {**facts["git"], "commit": "1" * 40, "history": ""}
    SourceRevision.objects.filter(pk=run.plan.revision_id).update(provenance=facts)
    assert "the branch was rewritten" in read(as_alice, "reviews:show-review", 2)
    Plan.objects.latest("pk").revision.files.update(provenance={})
    last = Plan.objects.latest("pk").revision
    provenance = {**last.provenance, "git": {**last.provenance["git"], "history": ""}}
    SourceRevision.objects.filter(pk=last.pk).update(provenance=provenance)
    assert "could not be read" in read(as_alice, "reviews:show-review", 2)


def test_overview_says_that_the_last_run_was_of_another_branch_or_of_a_newer_commit(as_alice, bob, fill, repository):
    first = repository.commit({"deploy/app.yaml": APP % b"one"})
    repository.commit({"deploy/app.yaml": APP % b"two"}, branch="next", parents=[first])
    as_alice.post(URL, fill(git_ref="next"))
    finish_run(Plan.objects.get(), bob)
    as_alice.post(URL, fill(git_ref="main"))
    finish(Plan.objects.latest("pk"))
    assert "This plan goes back: its commit is older" in read(as_alice, "reviews:show-review", 2)

    repository.commit({"deploy/app.yaml": APP % b"three"})
    as_alice.post(URL, fill(git_ref="main"))
    finish(Plan.objects.latest("pk"))

    page = read(as_alice, "reviews:show-review", 3)
    assert "The run applied branch next: its commit is not among the newest" in page
    assert "the branch was rewritten" not in page


def test_run_of_a_review_that_is_not_visible_is_not_named(as_alice, alice, bob, fill):
    form = fill()
    as_alice.post(URL, form)
    finish_run(Plan.objects.get(), bob)
    as_alice.post(URL, form)
    plan = Plan.objects.latest("pk")
    outsider = User.objects.create_user("olga")

    assert git_history.find_changes(plan, for_user=alice) is not None
    assert git_history.find_changes(plan, for_user=outsider) is None


def test_line_of_a_field_names_its_last_commit(as_alice, fill, repository):
    repository.commit({"deploy/app.yaml": APP % b"flags" + b"  c: d\n"}, author="Bob <b@b.example>", message="Add c")
    as_alice.post(URL, fill())
    plan = Plan.objects.get()

    newer = present_line(plan, SourcePosition("deploy/app.yaml", 7, 3))
    older = present_line(plan, SourcePosition("deploy/app.yaml", 6, 3))

    assert (newer.where, newer.commit.author, newer.commit.subject) == ("deploy/app.yaml:7", "Bob", "Add c")
    assert older.commit.author == "Ada Lovelace"
    assert present_line(plan, SourcePosition("other.yaml", 1, 1)) is None
    assert present_line(plan, SourcePosition("deploy/app.yaml", 0, 0)) is None


def test_line_that_was_not_compared_names_no_commit(as_alice, fill, repository, monkeypatch):
    monkeypatch.setattr(git_history, "read_blame", lambda _text, _line: UNCOMPARED)
    as_alice.post(URL, fill())
    line = present_line(Plan.objects.get(), SourcePosition("deploy/app.yaml", 6, 3))

    page = render_to_string("reviews/_schema.html", {"line": line, "about": None})

    assert line.commit is None
    assert "not compared with earlier commits: too many lines, or too many equal ones" in page
    assert "last changed" not in page


def test_channel_in_a_repository_is_read_with_its_addons(alice, repository, server):
    repository.commit({
        "channel.yaml": CHANNEL,
        "addons/dns.yaml": APP % b"dns",
    })  # fmt: skip

    taken = intake.read_manifests(intake.ReviewInput(git=GitSource(server.url(PATH))), by=alice)

    channel = channels.read_channel(taken.files, taken.bundle)
    assert channel is not None
    assert [file.name for file in taken.bundle.files] == ["addons/dns.yaml", "channel.yaml"]
    assert (taken.channel_problems, taken.missing_manifests) == ((), ())


def test_pages_of_known_hosts_are_linked():
    link = "https://github.com/team/shop"

    assert link_page(f"{link}.git", "blob", "abc/a.yaml") == f"{link}/blob/abc/a.yaml"
    assert link_page("ssh://git@gitlab.com/a/b", "blame", "c") == "https://gitlab.com/a/b/-/blame/c"
    for other in ("https://git.example/a", "http://github.com/a/b", "https://github.com:444/a/b"):
        assert link_page(other, "blob", "x") == ""
