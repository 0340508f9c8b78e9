"""A chart and a kustomization in a browser: uploaded, rendered by the real programs in isolation, and named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.charts import archive
from tests.e2e.conftest import (  # noqa: F401 - fixtures
    Product,
    browser_type_launch_args,
    run_product,
    sessions,
    show_alone,
    sign_in,
)
from tests.e2e.test_main_job import drop_files

pytestmark = pytest.mark.renderers


@pytest.fixture(scope="session")
def product(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The product on a machine that has helm."""
    with run_product(tmp_path_factory.mktemp("charts"), PATH=f"{programs}:{os.environ['PATH']}") as found:
        yield found


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
    expect(page.locator("#pane .pane-head")).to_contain_text("templates/settings.yaml")


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
