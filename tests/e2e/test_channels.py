"""A kOps channel in the browser: its folder becomes a plan that says what happens with each addon, and runs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.channels import simple
from tests.e2e.conftest import open_dangers, open_tab
from tests.e2e.test_review_page import wait_for_plan

pytestmark = [pytest.mark.e2e, pytest.mark.long]


def open_review(page: Page, folder) -> None:
    """Upload a folder as a person does, and wait for the plan."""
    page.goto("/reviews/new/")
    page.locator("[data-folder]").set_input_files(folder)
    expect(page.get_by_text(re.compile("objects found"))).to_be_visible()
    page.get_by_label("Title").fill("kOps channel")
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    wait_for_plan(page)


def test_folder_of_a_channel_is_planned_approved_and_run_addon_by_addon(sign_in, tmp_path):
    alice, bob = sign_in("alice"), sign_in("bob")
    for name, text in simple(web={"needsPKI": True}, dns={"kubernetesVersion": "<1.20.0"}).items():
        path = tmp_path / "addons" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    open_review(alice, tmp_path / "addons")
    open_tab(alice, "Addons")

    tab = alice.locator("#addons")
    expect(tab).to_contain_text("1 to install, 3 skipped")
    web = tab.get_by_role("region", name="web")
    expect(web).to_contain_text("Not installed: namespace kube-system has no annotation addons.k8s.io/web.")
    web.locator("summary").click()
    expect(web.get_by_role("link")).to_have_text(["ConfigMap/web", "ConfigMap/web-1", "Namespace/kube-system"])
    expect(tab.get_by_text("For Kubernetes <1.20.0")).to_be_hidden()
    tab.get_by_text("3 addons are skipped").click()  # two of the demo's own channel are not in this one
    expect(tab.get_by_text("For Kubernetes <1.20.0")).to_be_visible()

    address = re.search(r"/reviews/\d+/", alice.url)
    assert address
    bob.goto(address[0])
    open_dangers(bob)
    bob.goto(address[0])
    bob.get_by_role("link", name=re.compile("Approve plan")).click()
    bob.get_by_label(re.compile("when approved")).check()
    bob.get_by_role("button", name=re.compile("Approve and")).click()
    expect(bob.locator("main")).to_contain_text("3 of 3 objects applied")
