"""In a browser: a review follows a branch, a push makes its next plan, and its editor cannot approve it."""

import os
import re
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import run_product
from tests.following import PATH, sign, write_body
from tests.sources.git_server import GitRepository, serving_git
from tests.sources.servers import make_authority
from tests.stories import config_map

pytestmark = [pytest.mark.e2e, pytest.mark.long]


@pytest.fixture(scope="module")
def repository():
    return GitRepository()


@pytest.fixture(scope="module")
def server(repository, tmp_path_factory):
    authority = make_authority(tmp_path_factory.mktemp("authority"))
    with serving_git({PATH: repository}, authority.context("localhost")) as found:
        yield found, authority.file


@pytest.fixture(scope="module")
def product(server, tmp_path_factory):
    """A product of its own, which may fetch from the git server of this test."""
    git, authority = server
    given = {"APPLYVIZ_LINK_HOSTS": git.origin, "APPLYVIZ_LINK_CA_FILE": str(authority)}
    with run_product(tmp_path_factory.mktemp("following"), **given) as found:
        yield found


@pytest.fixture(scope="module")
def sessions():
    """Nobody has signed in there yet."""
    return {}


def keep(page: Page, name: str) -> None:
    """Keep a picture of the page where a person asked for them."""
    folder = os.environ.get("APPLYVIZ_PICTURES")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def add_push_webhook(dana: Page, repository: str) -> tuple[str, str]:
    """An administrator adds a push webhook; gives its address and secret."""
    dana.goto("/settings/repositories/")
    dana.get_by_role("link", name="New push webhook").click()
    dana.get_by_label("Repository").fill(repository)
    dana.get_by_role("button", name="Add push webhook").click()
    secret = dana.locator("[data-secret]").inner_text()
    keep(dana, "push-made")
    return dana.locator("dd", has_text="/push/").inner_text(), secret


def open_review(alice: Page, repository: str) -> str:
    """An author opens a review that follows the branch; gives its address."""
    alice.goto("/reviews/new/")
    alice.locator("summary", has_text="Git repository").click()
    alice.get_by_label("Repository", exact=False).first.fill(repository)
    alice.get_by_label("Branch, tag or commit").fill("main")
    alice.get_by_label("Path").fill("deploy")
    alice.get_by_label("Follow the branch").check()
    keep(alice, "form")
    alice.get_by_label("Title").fill("Flags")
    alice.get_by_role("button", name="Create plan").click()
    alice.wait_for_url(re.compile(r"/reviews/\d+/"))
    found = re.search(r"/reviews/\d+/", alice.url)
    assert found
    alice.goto(f"{found[0]}overview/")
    expect(alice.locator("#following-title")).to_contain_text("main")
    expect(alice.locator("[data-stream]")).to_have_count(0)
    keep(alice, "overview")
    return found[0]


def deliver(address: str, secret: str, before: str, after: str) -> None:
    """The git host tells Bob's push."""
    body = write_body(before, after, login="bob", email="bob@example.org")
    headers = {**sign(body, secret), "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as answer:
        assert answer.status == 202


def test_push_makes_the_next_plan_and_its_editor_cannot_approve(sign_in, server, repository):
    url = server[0].url(PATH)
    dana, alice, bob = (sign_in(name) for name in ("dana", "alice", "bob"))
    first = repository.commit({"deploy/app.yaml": config_map(color="blue").encode()}, author="Ann <ann@example.org>")
    address, secret = add_push_webhook(dana, url)
    review = open_review(alice, url)

    alice.goto(f"{review}follow/")
    second = repository.commit({"deploy/app.yaml": config_map(color="green").encode()}, author="Bob <bob@example.org>")
    deliver(address, secret, first, second)
    expect(alice.locator("#following")).to_contain_text(f"Created a plan of commit {second[:10]}")
    keep(alice, "follow-planned")

    dana.goto("/settings/people/bob/")
    dana.get_by_label("Address or account").fill("bob@example.org")
    keep(dana, "person")
    dana.get_by_role("button", name="Link identity").click()
    expect(dana.locator(".messages")).to_contain_text("Identity linked.")
    bob.goto(f"{review}overview/")
    expect(bob.locator("[data-review-header]")).to_contain_text("plan 2")
    expect(bob.locator("[data-review-header]")).to_contain_text("you wrote, committed or pushed commits")
    keep(bob, "editor")
    dana.goto("/settings/repositories/")
    dana.get_by_role("link", name=url).click()
    expect(dana.locator("tbody")).to_contain_text("Accepted")
    keep(dana, "deliveries")
    bob.goto("/account/identities/")
    expect(bob.locator("tbody")).to_contain_text("bob@example.org")
    keep(bob, "identities")
