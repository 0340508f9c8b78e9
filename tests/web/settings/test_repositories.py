"""Credentials of repositories: registered in the settings, used by workers for who may use them, never shown."""

from __future__ import annotations

import html
import re
from base64 import b64encode
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from applyviz.records.enums import AuditAction
from applyviz.records.fields import seal_for
from applyviz.records.models import AuditEntry, Cluster, Plan, RepositoryCredential, Team, TeamMember, WorkerRequest
from applyviz.records.sealing import Unsealed
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.workflow.foundation import row_macs
from applyviz.workflow.plans import repository_credentials
from tests.builders import add_member
from tests.keyless import go_without_keys
from tests.sources.git_server import GitRepository, serving_git
from tests.sources.servers import make_authority
from tests.sources.ssh_server import serving_ssh
from tests.web import rows

APP = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: flags\ndata:\n  a: b\n"
PATH = "/team/shop.git"
TOKEN = "glpat-1234567890-verysecret"
ADD, LIST = reverse("settings:add-repository"), reverse("settings:list-repositories")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def repository():
    found = GitRepository()
    found.commit({"deploy/app.yaml": APP})
    return found


def demand_token(environ):
    """Answer as a git host does without the token."""
    wanted = b64encode(f"bot:{TOKEN}".encode()).decode()
    if environ.get("HTTP_AUTHORIZATION") == f"Basic {wanted}":
        return None
    return "401 Unauthorized", [("WWW-Authenticate", "Basic")], b""


@pytest.fixture
def https(repository, authority, settings):
    with serving_git({PATH: repository}, authority.context("localhost"), demand_token) as server:
        settings.APPLYVIZ_LINK_HOSTS = (server.origin,)
        settings.APPLYVIZ_LINK_CA_FILE = str(authority.file)
        yield server


def read(answer) -> str:
    return html.unescape(re.sub(r"<wbr>", "", answer.content.decode()))


def register(browser, address, **values) -> RepositoryCredential:
    answer = browser.post(ADD, {"address": address, "team": "*", "secret": TOKEN, "username": "bot", **values})
    assert answer.status_code == 302, read(answer)
    return RepositoryCredential.objects.latest("pk")


def open_review(browser, url):
    if not Cluster.objects.exists():
        rows.make_cluster()
    form = {"title": "Flags", "cluster": "shop", "namespace": "shop", "mode": "server", "field_manager": "ci"}
    return browser.post(reverse("reviews:add-review"), {**form, "git_repository": url, "git_path": "deploy"})


def test_token_lets_an_author_take_manifests_of_a_private_repository(as_dana, as_alice, https):
    refused = read(open_review(as_alice, https.url(PATH)))
    assert "no credential is registered for it that you may use" in refused

    register(as_dana, https.url("/team"))

    assert open_review(as_alice, https.url(PATH)).status_code == 302
    assert Plan.objects.get().revision.provenance["git"]["repository"] == https.url(PATH)


def test_no_page_and_no_record_shows_a_secret(as_dana, https):
    credential = register(as_dana, https.url("/team"))
    shown = reverse("settings:show-repository", args=[credential.pk])
    refused = as_dana.post(ADD, {"address": "nowhere", "team": "*", "secret": TOKEN})
    as_dana.post(reverse("settings:try-repository", args=[credential.pk]), {"repository": https.url(PATH)})

    assert refused.status_code == 422
    for answer in (as_dana.get(LIST), as_dana.get(shown), refused):
        assert TOKEN not in answer.content.decode()
    assert TOKEN.encode() not in bytes(credential.secret.token)
    assert all(TOKEN not in str(entry.detail) for entry in AuditEntry.objects.all())
    changed = AuditEntry.objects.filter(action=AuditAction.REPOSITORY_CHANGED).first()
    assert (changed.detail["what"], changed.detail["repository"]) == ("added", https.url("/team"))


def test_credential_of_a_team_is_for_its_members_only(as_dana, as_alice, alice, https):
    team = Team.objects.create(slug="shop", name="Shop", created_at=timezone.now())
    register(as_dana, https.url("/team"), team="shop")

    refused = read(open_review(as_alice, https.url(PATH)))
    assert "no credential is registered for it that you may use" in refused
    assert [authorization for _method, _path, authorization in https.seen] == [""]
    member = add_member(team, alice)
    assert open_review(as_alice, https.url(PATH)).status_code == 302
    TeamMember.objects.filter(pk=member.pk).update(ended_at=timezone.now())
    assert repository_credentials.find_for(https.url(PATH), by=alice) is None


def test_longest_address_wins_and_a_neighbor_is_not_covered(as_dana, alice, https):
    register(as_dana, https.url("/team"))
    register(as_dana, https.url("/team/shop"), secret="another-token")

    found = repository_credentials.find_for(https.url(PATH), by=alice)
    assert found.token == "another-token"
    assert repository_credentials.find_for(https.url("/team-two/shop"), by=alice) is None
    assert "another-token" not in repr(found)


def test_rotated_and_removed(as_dana, alice, https):
    credential = register(as_dana, https.url("/team"))
    page = reverse("settings:show-repository", args=[credential.pk])

    assert as_dana.post(page, {"team": "*", "username": "bot", "secret": "short"}).status_code == 422
    as_dana.post(page, {"team": "*", "username": "other", "secret": ""})
    assert repository_credentials.find_for(https.url(PATH), by=alice).token == TOKEN
    as_dana.post(page, {"team": "*", "username": "other", "secret": "second-token"})
    found = repository_credentials.find_for(https.url(PATH), by=alice)
    assert (found.username, found.token) == ("other", "second-token")
    as_dana.post(reverse("settings:remove-repository", args=[credential.pk]))

    credential.refresh_from_db()
    assert (credential.secret, repository_credentials.find_for(https.url(PATH), by=alice)) == (None, None)
    assert as_dana.get(page).status_code == 404
    told = [e.detail["what"] for e in AuditEntry.objects.filter(action=AuditAction.REPOSITORY_CHANGED).order_by("pk")]
    assert told == ["added", "changed", "changed, with a new secret", "removed"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"address": "https://user:pw@git.example/a"}, "with a user name or token is not fetched"),
        ({"address": "https://10.0.0.1:8443/a"}, "port 443"),
        ({"address": "http://git.example/a"}, "Only https"),
        ({"secret": "short"}, "at least 8 characters"),
        ({"secret": "with a space in it"}, "at least 8 characters"),
        ({"username": "a:b"}, "no colon"),
        ({"address": "git@git.example:a/b", "secret": ""}, "Enter at least one host key"),
        ({"address": "git@git.example:a/b", "host_keys": "x", "secret": ""}, "not a host key"),
        ({"address": "git@git.example:a/b", "secret": "no key"}, "not a private key"),
    ],
)
def test_what_cannot_be_used_is_said_at_its_field(as_dana, values, text):
    answer = as_dana.post(ADD, {"address": "https://git.example/a", "team": "*", "secret": TOKEN, **values})

    assert answer.status_code == 422
    assert text in read(answer)
    assert RepositoryCredential.objects.count() == 0


def test_one_credential_for_each_address_and_team(as_dana):
    register(as_dana, "https://git.example/a")

    answer = as_dana.post(ADD, {"address": "https://git.example/a/", "team": "*", "secret": TOKEN})

    assert "already a credential" in read(answer)


@pytest.mark.parametrize("name", ["as_alice", "as_viewer"])
def test_only_administrators_manage_credentials(request, as_dana, name):
    credential = register(as_dana, "https://git.example/a")
    browser = request.getfixturevalue(name)

    for address in (LIST, ADD, reverse("settings:show-repository", args=[credential.pk])):
        assert browser.get(address).status_code == 403
    for address in ("try-repository", "remove-repository", "show-repository"):
        assert browser.post(reverse(f"settings:{address}", args=[credential.pk])).status_code == 403
    assert "Repositories" not in read(browser.get(reverse("settings:list-policies")))


def test_empty_list_says_what_a_credential_is_for(as_dana):
    assert "No credentials yet" in read(as_dana.get(LIST))


def test_test_of_a_credential_says_what_was_found(as_dana, https, repository):
    credential = register(as_dana, https.url("/team"))
    address = reverse("settings:try-repository", args=[credential.pk])

    works = read(as_dana.post(address, {"repository": https.url(PATH)}, follow=True))
    assert f"main is at {repository.repo.head().decode()[:10]}" in works
    missing = read(as_dana.post(address, {"repository": ""}, follow=True))
    assert "there is no repository" in missing
    assert "Failed" in missing
    elsewhere = read(as_dana.post(address, {"repository": "https://other.example/a"}, follow=True))
    assert "or below it" in elsewhere


def move(credential, prefix):
    """Give a credential another address, with its secret sealed and its row confirmed for that."""
    content = Unsealed(credential.secret.open_bytes())
    credential.refresh_from_db()
    credential.prefix = prefix
    sealed = seal_for(credential, "secret", content)
    row_macs.vouch(credential)
    RepositoryCredential.objects.filter(pk=credential.pk).update(prefix=prefix, secret=sealed, mac=credential.mac)


def test_made_deploy_key_fetches_over_ssh(as_dana, as_alice, repository, settings):
    settings.APPLYVIZ_LINK_HOSTS = ("ssh://git.example:2222",)
    host_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    waiting = register(as_dana, "ssh://git@git.example:2222/team", secret="", host_keys=host_key)
    with serving_ssh({PATH: repository}, waiting.public_key) as server:
        settings.APPLYVIZ_LINK_HOSTS = (server.origin,)
        move(waiting, server.url("/team"))
        page = reverse("settings:show-repository", args=[waiting.pk])

        refused = read(open_review(as_alice, server.url(PATH)))
        assert "not among the host keys registered" in refused
        assert server.users == []
        assert as_dana.post(page, {"team": "*", "host_keys": server.host_line}).status_code == 302
        shown = read(as_dana.get(page))
        answer = open_review(as_alice, server.url(PATH))

        assert waiting.public_key in shown
        assert server.host_key.get_fingerprint() in shown
        assert answer.status_code == 302, read(answer)
        assert as_dana.post(page, {"team": "*", "host_keys": server.host_line, "renew": "on"}).status_code == 302
        waiting.refresh_from_db()
        assert waiting.public_key not in shown
        assert "refused the deploy key" in read(open_review(as_alice, server.url(PATH)))


def test_worker_opens_credentials_for_a_web_process_of_a_team(as_dana, as_alice, https, settings, monkeypatch):
    web = go_without_keys(settings, monkeypatch)
    credential = register(as_dana, https.url("/team"))

    tried = as_dana.post(
        reverse("settings:try-repository", args=[credential.pk]), {"repository": https.url(PATH)}, follow=True
    )
    answer = open_review(as_alice, https.url(PATH))

    assert "It works" in read(tried)
    assert answer.status_code == 302, read(answer)
    assert web.served == [WorkerRequestKind.GIT_TEST, WorkerRequestKind.GIT]
    assert all(TOKEN not in str(row.question) + str(row.result) for row in WorkerRequest.objects.all())


def test_without_a_worker_the_test_says_so(as_dana, https, settings, monkeypatch):
    web = go_without_keys(settings, monkeypatch)
    credential = register(as_dana, https.url("/team"))
    web.works = False
    monkeypatch.setattr("applyviz.workflow.worker_requests.repositories._PATIENCE", timedelta(seconds=0.2))

    tried = as_dana.post(reverse("settings:try-repository", args=[credential.pk]), follow=True)

    assert "No worker answered in time" in read(tried)
