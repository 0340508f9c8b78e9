"""Three people in three browsers: who wrote, who agrees, who is outside; and an administrator who sets the rules."""

import re
import secrets

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_dangers
from tests.e2e.test_main_job import DEPLOYMENT, SECRET, drop_files, open_review

pytestmark = pytest.mark.e2e
ROLE = """apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: {name}}}
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [get]
"""


def make_account(page: Page, name: str) -> str:
    """An administrator makes an account without any role; gives its password."""
    password = secrets.token_urlsafe(12)
    page.goto("/settings/people/new/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("First password").fill(password)
    page.get_by_role("button", name="Make the account").click()
    expect(page.get_by_text("No role: nothing here is visible to them.")).to_be_visible()
    return password


def test_author_approver_and_outsider_agree_on_a_danger(sign_in, product):
    alice, bob, dana = sign_in("alice"), sign_in("bob"), sign_in("dana")
    name = f"readers-{secrets.token_hex(3)}"
    alice.goto("/reviews/new/")
    drop_files(alice, {"role.yaml": ROLE.format(name=name)})
    expect(alice.get_by_text("1 object found")).to_be_visible()
    alice.get_by_label("Title").fill("Let people read")
    alice.get_by_label("Namespace").fill("shop")
    alice.get_by_role("button", name="Make the plan").click()
    expect(alice.locator(".sentence")).to_contain_text("1 is created")
    review = alice.url
    expect(alice.locator("[data-deck]")).to_contain_text("You need the role approver")

    # Somebody without a grant: neither the review nor its number is there.
    product.passwords[name] = make_account(dana, name)
    outsider = sign_in(name, is_let_in=False)
    assert outsider.goto(review).status == 404
    assert outsider.goto("/reviews/4711/").status == 404

    # The approver sends it back, thinks again, and agrees.
    bob.goto(review)
    open_dangers(bob)
    bob.get_by_role("link", name=re.compile("Approve plan")).click()
    expect(bob.locator(".consent-state")).to_contain_text("built-in@1")
    expect(bob.locator(".dangers")).to_contain_text("Rights change")
    bob.get_by_text("Ask for changes instead").click()
    bob.get_by_label("What should be otherwise").fill("Is this for everybody?")
    bob.get_by_role("button", name="Request changes").click()
    expect(bob.get_by_role("button", name="Take the request for changes back")).to_be_visible()
    alice.reload()
    expect(alice.locator("#brief")).to_contain_text("bob requests changes")
    expect(alice.locator("#brief")).to_contain_text("Is this for everybody?")
    bob.get_by_role("button", name="Take the request for changes back").click()
    bob.get_by_role("link", name=re.compile("Approve plan")).click()
    bob.get_by_role("button", name=re.compile("Approve and apply")).click()
    bob.wait_for_url("**/runs/*/")
    expect(bob.get_by_role("heading", level=1)).to_contain_text("succeeded")
    assert outsider.goto(bob.url).status == 404


def test_policy_asks_for_more_and_the_plan_says_so(sign_in):
    alice, bob, dana = sign_in("alice"), sign_in("bob"), sign_in("dana")
    files = {"greeter.yaml": DEPLOYMENT.format(replicas=1, version="3"), "secret.yaml": SECRET.format(version=7)}
    open_review(alice, "One more greeter", files)
    review = alice.url

    dana.goto("/settings/policies/new/")
    dana.get_by_label("Short name").fill("careful")
    dana.get_by_label("Clusters").fill("demo")
    dana.get_by_label("Approvals", exact=True).fill("2")
    dana.get_by_role("button", name="Put this version in force").click()
    expect(dana.get_by_role("heading", level=1)).to_contain_text("careful version 1")
    try:
        bob.goto(review)
        expect(bob.locator("[data-deck]")).to_contain_text("the policy changed since this plan was made")
        alice.goto(review)
        alice.get_by_role("button", name="Plan again").first.click()
        expect(alice.locator(".track")).to_contain_text("0 of 2")
    finally:
        dana.get_by_role("button", name="Retire this policy").click()
        expect(dana.locator(".messages")).to_contain_text("The policy holds no longer.")
