"""A kOps channel in the browser: its files become a plan that says what happens with each addon, and why."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.channels import simple
from tests.e2e.conftest import open_tab
from tests.e2e.test_review_page import open_review, wait_for_plan

pytestmark = [pytest.mark.e2e, pytest.mark.long]


def test_channel_is_planned_addon_by_addon(sign_in):
    page = sign_in("alice")
    found = simple(web={"needsPKI": True, "kubernetesVersion": ">=1.30.0"}, dns={"kubernetesVersion": "<1.20.0"})
    files = {name.replace("/v1.yaml", ".yaml"): text.replace("/v1.yaml", ".yaml") for name, text in found.items()}

    open_review(page, "kOps channel", files)
    wait_for_plan(page)
    open_tab(page, "Overview")

    table = page.get_by_role("region", name="Addons")
    expect(table.get_by_text("1 to install, 1 skipped")).to_be_visible()
    expect(table.locator("tbody tr")).to_have_count(2)
    expect(table.locator("tbody tr").first).to_contain_text("For Kubernetes <1.20.0")
    expect(table.locator("tbody tr").last).to_contain_text("Install")
