"""Sources in a browser: a repository, links, files and a folder, named everywhere, and what changed since a run."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import StorageState, expect

from tests.e2e.accessibility import find_violations
from tests.e2e.conftest import Product, run_product, show_alone
from tests.e2e.test_main_job import approve_and_apply, drop_files
from tests.sources.git_server import GitRepository, serving_git
from tests.sources.servers import make_authority

pytestmark = [pytest.mark.e2e, pytest.mark.long]
PATH, RAW = "/team/shop.git", "/raw/extra.yaml"
VERSIONED = "/releases/download/v{}/linked.yaml"


def config(name: str, value: str = "1") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: '{value}'}}\n"


def answer_link(environ):
    """The files behind links; everything else is git."""
    files = {RAW: config("of-link"), VERSIONED.format("1.0.0"): config("of-release", "blue")}
    files[VERSIONED.format("1.1.0")] = config("of-release", "green")
    if environ["PATH_INFO"] not in files:
        return None
    return "200 OK", [("Content-Type", "text/yaml")], files[environ["PATH_INFO"]].encode()


@pytest.fixture(scope="session")
def repository() -> GitRepository:
    found = GitRepository()
    found.commit({"deploy/app.yaml": config("of-git").encode()}, message="Begin")
    return found


@pytest.fixture(scope="session")
def server(repository, tmp_path_factory):
    authority = make_authority(tmp_path_factory.mktemp("authority"))
    with serving_git({PATH: repository}, authority.context("localhost"), answer_link) as found:
        yield found, authority


@pytest.fixture(scope="session")
def product(server, tmp_path_factory) -> Iterator[Product]:
    """The product that may fetch from the server of the tests."""
    git, authority = server
    names = {"APPLYVIZ_LINK_HOSTS": git.origin, "APPLYVIZ_LINK_CA_FILE": str(authority.file)}
    with run_product(tmp_path_factory.mktemp("sources"), **names) as found:
        yield found


@pytest.fixture(scope="session")
def sessions(product) -> dict[str, tuple[StorageState, float]]:
    """The sessions of this product."""
    del product
    return {}


def open_git(page, url: str, title: str) -> None:
    """Open a review of the folder deploy of a repository, and wait for its plan."""
    page.goto("/reviews/new/")
    open_source(page, "Git repository")
    page.get_by_label("Repository", exact=True).fill(url)
    page.get_by_label("Path", exact=True).fill("deploy")
    page.get_by_label("Title").fill(title)
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(page.locator("[data-stream]")).to_have_count(0)


def open_source(page, name: str) -> None:
    page.locator("summary", has_text=name).click()


def test_sources_are_mixed_named_and_fetched_again(sign_in, server, repository):
    git, _authority = server
    page = sign_in("alice", is_let_in=False)  # a refused form is an error on the console
    page.goto("/reviews/new/")
    open_source(page, "Git repository")
    page.get_by_label("Repository", exact=True).fill(git.url(PATH))
    page.get_by_label("Path", exact=True).fill("deploy")
    open_source(page, "Links")
    page.get_by_role("textbox", name="Links").fill(f"{git.origin}{RAW}")
    drop_files(page, {"app.yaml": config("of-git")})
    page.get_by_label("Title").fill("Mixed sources")
    page.get_by_role("button", name="Create plan").click()
    found = page.locator("[data-found]")
    expect(found).to_contain_text("is in the upload too, at app.yaml:1")

    drop_files(page, {"app.yaml": config("of-upload")})
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(page.locator("[data-stream]")).to_have_count(0)
    facts = page.get_by_role("region", name="About this plan")
    expect(facts).to_contain_text("1 file uploaded; 1 file from localhost; 1 file from localhost")
    expect(facts).to_contain_text("Begin")
    page.get_by_role("link", name="Print").click()
    for origin in ("uploaded", "fetched", "from the repository"):
        expect(page.locator("#record-files ~ table")).to_contain_text(origin)
    page.go_back()
    page.locator("[data-review-tab]", has_text="Changes").click()
    show_alone(page, "of-link")
    expect(page.locator("#pane")).to_contain_text(f"fetched {git.origin}{RAW}")


def test_newer_commit_is_fetched_by_one_click(sign_in, server, repository):
    git, _authority = server
    page = sign_in("alice")
    page.goto("/reviews/new/")
    open_source(page, "Git repository")
    page.get_by_label("Repository", exact=True).fill(git.url(PATH))
    page.get_by_label("Title").fill("Follow the repository")
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(page.locator("[data-stream]")).to_have_count(0)
    repository.commit({"deploy/app.yaml": config("of-git", "2").encode()}, message="Raise a")
    page.get_by_role("button", name=re.compile("newer commit|Fetch")).click()
    page.wait_for_url(re.compile(r"/reviews/\d+/plans/2/"))

    expect(page.get_by_role("region", name="About this plan")).to_contain_text("Raise a")


def test_what_changed_since_the_last_run_stands_beside_the_plan(sign_in, server, repository):
    url = server[0].url(PATH)
    alice, bob = sign_in("alice"), sign_in("bob")
    repository.commit({"deploy/app.yaml": config("of-run", "blue").encode()}, message="Paint it blue")
    open_git(alice, url, "Blue")
    approve_and_apply(bob, alice.url)
    repository.commit({"deploy/app.yaml": config("of-run", "green").encode()}, message="Paint it green")
    open_git(alice, url, "Green")

    alice.locator("[data-review-tab]", has_text="Overview").click()
    card = alice.get_by_role("region", name=re.compile("Changed in the source since"))
    expect(card).to_contain_text("Paint it green")
    changed = card.get_by_role("region", name="deploy/app.yaml")
    expect(changed).to_contain_text("ConfigMap/of-run")
    expect(changed).to_contain_text("green")
    alice.goto(card.locator("[hx-get]").get_attribute("hx-get") or "")
    expect(alice.get_by_role("heading", level=1)).to_have_text("Changed manifests")
    assert find_violations(alice) == []


def open_link(page, url: str, title: str) -> None:
    """Open a review of one link, and wait for its plan."""
    page.goto("/reviews/new/")
    open_source(page, "Links")
    page.get_by_role("textbox", name="Links").fill(url)
    page.get_by_label("Title").fill(title)
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(page.locator("[data-stream]")).to_have_count(0)


def test_newer_version_of_a_link_is_compared_with_the_last_run(sign_in, server):
    origin = server[0].origin
    alice, bob = sign_in("alice"), sign_in("bob")
    open_link(alice, f"{origin}{VERSIONED.format('1.0.0')}", "First release")
    approve_and_apply(bob, alice.url)
    open_link(alice, f"{origin}{VERSIONED.format('1.1.0')}", "Next release")

    alice.locator("[data-review-tab]", has_text="Overview").click()
    card = alice.get_by_role("region", name=re.compile("Changed in the source since"))
    expect(card).to_contain_text("1 link")
    expect(card).to_contain_text("v1.1.0/linked.yaml")
    changed = card.get_by_role("region", name="linked.yaml")
    expect(changed).to_contain_text("ConfigMap/of-release")
    expect(changed).to_contain_text("green")


def test_folder_is_uploaded_with_its_paths(sign_in, tmp_path):
    folder = tmp_path / "shop"
    for name, text in {"a/one.yaml": config("in-a"), "b/one.yaml": config("in-b"), "b/notes.md": "# no"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    page = sign_in("alice")
    page.goto("/reviews/new/")
    page.locator("[data-folder]").set_input_files(folder)
    expect(page.get_by_text("2 objects found")).to_be_visible()
    page.get_by_label("Title").fill("A folder")
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(page.locator("[data-stream]")).to_have_count(0)

    page.get_by_role("link", name="Print").click()
    files = page.locator("#record-files ~ table")
    for name in ("shop/a/one.yaml", "shop/b/one.yaml"):
        expect(files).to_contain_text(name)
    expect(files).not_to_contain_text("notes.md")
