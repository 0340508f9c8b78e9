"""A live object is patched through a review, in a browser: form, calculation, approval, run, and patched back."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_dangers
from tests.e2e.test_plan_others import look_at
from tests.e2e.test_resolutions import apply, open_review, wait_for_plan

pytestmark = [pytest.mark.e2e, pytest.mark.long]
WEB = """apiVersion: apps/v1
kind: Deployment
metadata: {name: patched-web}
spec:
  replicas: 2
  selector: {matchLabels: {app: patched-web}}
  template:
    metadata: {labels: {app: patched-web}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
"""


def enter(page: Page, title: str, *, patch: str, kind: str, part: str = "") -> str:
    """Fill the form of a patch and wait for its plan; gives the address of the review."""
    page.goto("/reviews/new/")
    page.get_by_label("Title").fill(title)
    page.get_by_label("Namespace").fill("shop")
    page.get_by_role("radio", name=re.compile("^Patch")).check()
    page.get_by_label("Objects to patch").fill("deployment/patched-web")
    page.get_by_label("Type of the patch").select_option(kind)
    page.get_by_label("Send it to").select_option(part)
    page.locator("#id_patch").fill(patch)
    page.get_by_role("button", name="Create plan").click()
    wait_for_plan(page, 1)
    expect(page.locator("#strip .counts")).to_have_attribute("aria-label", "1 to update")
    found = re.search(r"/reviews/\d+/", page.url)
    assert found
    return found[0]


def run(page: Page, address: str) -> None:
    """Approve and patch as the approver."""
    page.goto(address)
    open_dangers(page)
    page.goto(address)
    page.get_by_role("link", name=re.compile("Approve plan")).click()
    page.get_by_role("checkbox", name=re.compile("when approved$")).check()
    page.get_by_role("button", name=re.compile("^Approve and")).click()
    page.wait_for_url("**/runs/*/")
    expect(page.locator("main")).to_contain_text("1 of 1 object")


def test_object_is_patched_and_patched_back(sign_in):
    alice, bob = sign_in("alice"), sign_in("bob")
    apply(bob, open_review(alice, "Web", {"web.yaml": WEB}, manager="applyviz"))
    image = "spec:\n  template:\n    spec:\n      containers:\n      - name: web\n        image: nginx:2\n"

    run(bob, enter(alice, "Patch the image", patch=image, kind="strategic"))
    look_at(bob, "patch-run")
    run(bob, enter(alice, "Scale", patch='{"spec": {"replicas": 3}}', kind="merge", part="scale"))

    alice.goto(bob.url)
    alice.get_by_role("button", name=re.compile("Revert")).first.click()
    wait_for_plan(alice, 1)
    expect(alice.locator("#strip .counts")).to_have_attribute("aria-label", "1 to update")
    look_at(alice, "patch-reverted")
