"""Sources behind a credential and charts of a repository, in a browser: an administrator registers, an author plans."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest
from playwright.sync_api import expect

from tests.charts import archive, folder
from tests.e2e.conftest import (  # noqa: F401 - fixtures
    Product,
    browser_type_launch_args,
    run_product,
    sessions,
    show_alone,
    sign_in,
)
from tests.e2e.test_main_job import drop_files
from tests.rendering.test_browser import create
from tests.sources.git_server import GitRepository, GitServer, serving_git
from tests.sources.servers import make_authority
from tests.sources.ssh_server import SshServer, serving_ssh

pytestmark = [pytest.mark.renderers, pytest.mark.long]

SECRET = "/team/private.git"
TOKEN = "token-of-the-tests"
INDEX = b"apiVersion: v1\nentries:\n  shop:\n  - {name: shop, version: 1.2.3, urls: [shop-1.2.3.tgz]}\n"
CHARTS = {"/charts/index.yaml": INDEX, "/charts/shop-1.2.3.tgz": archive()}


def config(name: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: b}}\n"


def answer(environ):
    """A repository of charts, and a git host that asks for a token."""
    if environ["PATH_INFO"] in CHARTS:
        return "200 OK", [], CHARTS[environ["PATH_INFO"]]
    wanted = b64encode(f"bot:{TOKEN}".encode()).decode()
    if environ.get("HTTP_AUTHORIZATION") == f"Basic {wanted}":
        return None
    return "401 Unauthorized", [("WWW-Authenticate", "Basic")], b""


@dataclass
class Hosts:
    """A git host by https and one by ssh, and the deploy key that the latter accepts."""

    https: GitServer
    ssh: SshServer
    key: asyncssh.SSHKey
    authority: Path


@pytest.fixture(scope="session")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    by_https, by_ssh = GitRepository(), GitRepository()
    by_https.commit({"deploy/app.yaml": config("of-token").encode()}, message="By token")
    by_ssh.commit({"deploy/app.yaml": config("of-key").encode()}, message="By key")
    key = asyncssh.generate_private_key("ssh-ed25519")
    authority = make_authority(tmp_path_factory.mktemp("authority"))
    with (
        serving_git({SECRET: by_https}, authority.context("localhost"), answer) as https,
        serving_ssh({SECRET: by_ssh}, key.export_public_key().decode()) as ssh,
    ):
        yield Hosts(https, ssh, key, authority.file)


@pytest.fixture(scope="session")
def product(programs: Path, hosts: Hosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    names = {
        "APPLYVIZ_LINK_HOSTS": f"{hosts.https.origin},{hosts.ssh.origin}",
        "APPLYVIZ_LINK_CA_FILE": str(hosts.authority),
    }
    path = f"{programs}:{os.environ['PATH']}"
    with run_product(tmp_path_factory.mktemp("sources"), PATH=path, **names) as found:
        yield found


def fill_git(page, address: str) -> None:
    page.goto("/reviews/new/")
    page.locator("summary", has_text="Git repository").click()
    page.get_by_label("Repository", exact=True).fill(address)


def add_credential(page, address: str, secret: str, **more: str) -> None:
    page.goto("/settings/repositories/new/")
    page.get_by_label("Address").fill(address)
    page.get_by_label("Token or private key").fill(secret)
    for label, text in more.items():
        page.get_by_label(label.replace("_", " ")).fill(text)
    page.get_by_role("button", name="Add credential").click()
    expect(page.get_by_text("Credential added.")).to_be_visible()


def test_token_opens_a_private_repository(sign_in, hosts):  # noqa: F811 - a fixture
    address = hosts.https.url(SECRET)
    alice, dana = sign_in("alice", is_let_in=False), sign_in("dana")
    fill_git(alice, address)
    alice.get_by_label("Title").fill("A private repository")
    alice.get_by_role("button", name="Create plan").click()
    expect(alice.get_by_text("no credential is registered for it that you may use").first).to_be_visible()

    add_credential(dana, address, TOKEN, User_name="bot")
    create(alice, "A private repository")

    expect(alice.get_by_role("region", name="About this plan")).to_contain_text("By token")
    assert TOKEN not in dana.content()


def test_deploy_key_opens_a_repository_whose_host_key_is_pinned(sign_in, hosts):  # noqa: F811 - a fixture
    address = hosts.ssh.url(SECRET)
    alice, dana = sign_in("alice", is_let_in=False), sign_in("dana")
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip()
    add_credential(dana, address, hosts.key.export_private_key().decode(), Host_keys=other)
    fill_git(alice, address)
    alice.get_by_label("Title").fill("By ssh")
    alice.get_by_role("button", name="Create plan").click()
    expect(alice.get_by_text("not among the host keys registered").first).to_be_visible()
    assert hosts.ssh.users == []

    dana.get_by_label("Host keys").fill(hosts.ssh.host_line)
    dana.get_by_role("button", name="Save", exact=True).click()
    expect(dana.get_by_text("Credential saved.")).to_be_visible()
    create(alice, "By ssh")

    expect(alice.get_by_role("region", name="About this plan")).to_contain_text("By key")


def test_chart_of_a_repository_is_fetched_and_rendered(sign_in, hosts):  # noqa: F811 - a fixture
    page = sign_in("alice", is_let_in=False)
    page.goto("/reviews/new/")
    page.locator("summary", has_text="Helm chart").click()
    page.locator("[data-chart]").fill("shop")
    page.get_by_label("Chart repository").fill(f"{hosts.https.origin}/charts")
    page.get_by_label("Version", exact=True).fill("1.2")
    page.get_by_label("Title").fill("Of a repository")
    page.get_by_role("button", name="Create plan").click()
    expect(page.get_by_text("the repository has no version 1.2 of shop; its newest are 1.2.3").first).to_be_visible()

    page.get_by_label("Version", exact=True).fill("1.2.3")
    page.get_by_label("Release name").fill("of-index")
    create(page, "Of a repository")

    facts = page.get_by_role("region", name="About this plan")
    expect(facts).to_contain_text("shop 1.2.3, release of-index")
    expect(page.get_by_text("but not in these manifests")).to_have_count(0)
    page.get_by_role("link", name="Print").click()
    expect(page.locator("#record-chart ~ dl")).to_contain_text(f"{hosts.https.origin}/charts/shop-1.2.3.tgz")


def test_dropped_folder_of_a_chart_is_rendered_beside_pasted_text(sign_in):  # noqa: F811 - a fixture
    unknown = 'apiVersion: v1\nkind: Pod\nmetadata: {name: odd, annotations: {helm.sh/hook: "no-such"}}\n'
    page = sign_in("alice")
    page.goto("/reviews/new/")
    drop_files(page, {name: data.decode() for name, data in folder(**{"templates/odd.yaml": unknown}).items()})
    page.locator("summary", has_text="Helm chart").click()
    page.locator("[data-chart]").fill("shop")
    page.get_by_label("Release name").fill("of-folder")
    page.get_by_label("Paste").fill(config("of-paste"))
    create(page, "A folder and a text")

    facts = page.get_by_role("region", name="About this plan")
    expect(facts).to_contain_text("chart shop 1.2.3 as release of-folder; pasted text")
    expect(facts).to_contain_text("1 warning of Helm")
    page.get_by_role("link", name="Print").click()
    expect(page.get_by_text("skipping unknown hooks hookTypes=no-such")).to_be_visible()
    page.go_back()
    page.locator("[data-review-tab]", has_text="Changes").click()
    show_alone(page, "of-paste")
