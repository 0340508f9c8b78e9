"""Charts and kustomizations in a browser: uploaded, from a repository or a registry, rendered by the real programs."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

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
from tests.sources.git_server import GitRepository, GitServer, serving_git
from tests.sources.servers import make_authority

pytestmark = pytest.mark.renderers


REPOSITORY, REGISTRY = "/team/shop.git", "/v2/team/shop/"
BASE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-base}\ndata: {color: blue}\n"
FILES = {
    **{f"deploy/{name}": data for name, data in folder().items()},
    "values/prod.yaml": b"color: crimson\n",
    "base/kustomization.yaml": b"resources: [settings.yaml]\n",
    "base/settings.yaml": BASE.encode(),
    "prod/kustomization.yaml": b"resources: [../base]\nnamePrefix: prod-\n",
}


def answer_registry(environ):
    """A registry of charts beside the repository, as the OCI distribution specification describes it."""
    data, media = archive(), "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    answers = {
        f"{REGISTRY}manifests/1.2.3": json.dumps({"layers": [{"mediaType": media, "digest": digest}]}).encode(),
        f"{REGISTRY}blobs/{digest}": data,
    }
    found = answers.get(environ["PATH_INFO"])
    return None if found is None else ("200 OK", [("Content-Length", str(len(found)))], found)


@pytest.fixture(scope="session")
def repository() -> GitRepository:
    found = GitRepository()
    found.commit(FILES, message="Begin")
    return found


@pytest.fixture(scope="session")
def server(repository: GitRepository, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[GitServer, Path]]:
    authority = make_authority(tmp_path_factory.mktemp("authority"))
    with serving_git({REPOSITORY: repository}, authority.context("localhost"), answer_registry) as found:
        yield found, authority.file


@pytest.fixture(scope="session")
def product(
    programs: Path, server: tuple[GitServer, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Product]:
    """The product on a machine that has helm, which may fetch from the server of the tests."""
    names = {"APPLYVIZ_LINK_HOSTS": server[0].origin, "APPLYVIZ_LINK_CA_FILE": str(server[1])}
    path = f"{programs}:{os.environ['PATH']}"
    with run_product(tmp_path_factory.mktemp("charts"), PATH=path, **names) as found:
        yield found


def create(page, title: str) -> None:
    """Create the plan and wait for it."""
    page.get_by_label("Title").fill(title)
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(page.locator("[data-stream]")).to_have_count(0)


@pytest.mark.long
def test_chart_is_rendered_planned_and_names_its_templates(sign_in):  # noqa: F811 - a fixture
    page = sign_in("alice")
    page.goto("/reviews/new/")
    page.get_by_label("Files", exact=True).set_input_files(
        {"name": "shop-1.2.3.tgz", "mimeType": "application/gzip", "buffer": archive()}
    )
    page.locator("summary", has_text="Helm chart").click()
    page.locator("[data-chart]").fill("shop-1.2.3.tgz")
    page.get_by_label("Release name").fill("web")
    page.get_by_label("Title").fill("A chart")
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(page.locator("[data-stream]")).to_have_count(0)

    facts = page.get_by_role("region", name="About this plan")
    expect(facts).to_contain_text("shop 1.2.3")
    expect(page.get_by_text("Helm hook").first).to_be_visible()
    page.locator("[data-review-tab]", has_text="Changes").click()
    show_alone(page, "web-shop")
    expect(page.locator("#pane")).to_contain_text("templates/settings.yaml")


@pytest.mark.long
def test_kustomization_is_rendered_and_planned(sign_in):  # noqa: F811 - a fixture
    page = sign_in("alice")
    page.goto("/reviews/new/")
    drop_files(page, {
        "base/kustomization.yaml": "resources: [settings.yaml]\n",
        "base/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: blue}\n",
        "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\n",
    })  # fmt: skip
    page.locator("summary", has_text="Kustomization").click()
    page.get_by_label("Folder to render").fill("prod")
    page.get_by_label("Title").fill("A kustomization")
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(page.locator("[data-stream]")).to_have_count(0)

    page.get_by_role("link", name="Print").click()
    expect(page.locator("#record-files ~ table")).to_contain_text("rendered by kustomize from prod")
    page.go_back()
    page.locator("[data-review-tab]", has_text="Changes").click()
    show_alone(page, "prod-settings")


@pytest.mark.long
def test_chart_of_a_repository_is_rendered_at_its_commit_with_its_values(sign_in, server, repository):  # noqa: F811
    page = sign_in("alice")
    page.goto("/reviews/new/")
    page.locator("summary", has_text="Git repository").click()
    page.get_by_label("Repository", exact=True).fill(server[0].url(REPOSITORY))
    page.locator("summary", has_text="Helm chart").click()
    page.locator("[data-chart]").fill("deploy/shop")
    page.get_by_label("Release name").fill("of-git")
    page.get_by_label("Values files").fill("values/prod.yaml")
    create(page, "A chart of a repository")

    commit = repository.repo.head().decode()[:10]
    facts = page.get_by_role("region", name="About this plan")
    expect(facts).to_contain_text("chart shop 1.2.3 as release of-git")
    expect(facts).to_contain_text(f"{commit} · Begin")
    expect(page.get_by_text("Helm hook").first).to_be_visible()
    page.locator("[data-review-tab]", has_text="Changes").click()
    show_alone(page, "of-git-shop")
    expect(page.locator("#pane")).to_contain_text(f"deploy/shop/templates/settings.yaml at {commit}")
    expect(page.locator("#pane")).to_contain_text("crimson")


@pytest.mark.long
def test_chart_of_a_registry_is_fetched_and_rendered(sign_in, server):  # noqa: F811 - a fixture
    host = server[0].origin.removeprefix("https://")
    page = sign_in("alice", is_let_in=False)  # a refused form is an error on the console
    page.goto("/reviews/new/")
    page.locator("summary", has_text="Helm chart").click()
    page.locator("[data-chart]").fill(f"oci://{host}/team/shop")
    page.get_by_label("Release name").fill("of-oci")
    page.get_by_label("Title").fill("A chart of a registry")
    page.get_by_role("button", name="Create plan").click()
    expect(page.get_by_text("enter the exact version of the chart").first).to_be_visible()
    page.get_by_label("Version", exact=True).fill("1.2.3")
    create(page, "A chart of a registry")

    expect(page.get_by_role("region", name="About this plan")).to_contain_text("shop 1.2.3")
    page.get_by_role("link", name="Print").click()
    expect(page.locator("#record-chart ~ dl")).to_contain_text(f"oci://{host}/team/shop:1.2.3")


@pytest.mark.long
def test_kustomization_of_a_repository_is_rendered(sign_in, server):  # noqa: F811 - a fixture
    page = sign_in("alice")
    page.goto("/reviews/new/")
    page.locator("summary", has_text="Git repository").click()
    page.get_by_label("Repository", exact=True).fill(server[0].url(REPOSITORY))
    page.locator("summary", has_text="Kustomization").click()
    page.get_by_label("Folder to render").fill("prod")
    create(page, "A kustomization of a repository")

    expect(page.get_by_role("region", name="About this plan")).to_contain_text("Begin")
    page.get_by_role("link", name="Print").click()
    expect(page.locator("#record-files ~ table")).to_contain_text("rendered by kustomize from prod")
    page.go_back()
    page.locator("[data-review-tab]", has_text="Changes").click()
    show_alone(page, "prod-of-base")
