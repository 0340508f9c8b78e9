"""Three people in three browsers: who wrote, who agrees, who is outside; and an administrator who sets the rules."""

import re
import secrets

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_dangers, open_tab
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
    """An administrator invites somebody, who claims the account by the link; gives the password that they chose."""
    password = secrets.token_urlsafe(12)
    page.goto("/settings/people/new/")
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Create account").click()
    assert page.context.browser is not None
    invited = page.context.browser.new_page()
    invited.goto(page.locator("[data-claim]").inner_text())
    invited.get_by_label("New password", exact=True).fill(password)
    invited.get_by_label("Repeat new password").fill(password)
    invited.get_by_role("button", name="Set password").click()
    expect(invited.get_by_role("heading", level=1)).to_have_text("Sign in")
    invited.close()
    page.get_by_role("link", name="Grant a role").click()
    expect(page.get_by_text("No roles: this person can't see anything yet.")).to_be_visible()
    return password


def bring_manifests(page: Page, text: str, button: str) -> None:
    """Drop one file on the form that is open, and ask for the plan."""
    drop_files(page, {"role.yaml": text})
    expect(page.get_by_text("1 object found")).to_be_visible()
    page.get_by_role("button", name=button).click()
    expect(page.locator("#strip .counts")).to_have_attribute("aria-label", "1 to create")


def bring_other_manifests(page: Page, text: str) -> None:
    """Replace what the review that is open holds."""
    page.get_by_role("link", name="Upload new manifests").first.click()
    bring_manifests(page, text, "Create next plan")


def open_consent(page: Page, review: str, number: int) -> None:
    """The page on which a plan is approved, with its dangers acknowledged."""
    page.goto(review)
    open_dangers(page)
    page.get_by_role("link", name=re.compile(f"Approve plan {number}…")).click()
    expect(page.locator("#sheet-title")).to_have_text(f"Review plan {number}")


def approve(page: Page, review: str, number: int) -> None:
    """Agree, and leave the run for later."""
    open_consent(page, review, number)
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator(".track")).to_contain_text(re.compile(r"Approved\s*by bob"))


def read_all(page: Page, addresses: list[str]) -> list[int]:
    """How each address answers."""
    return [answer.status for address in addresses if (answer := page.goto(address))]


@pytest.mark.long
def test_approver_sends_a_plan_back_until_it_is_right(sign_in):
    alice, bob = sign_in("alice"), sign_in("bob")
    role_name = f"readers-{secrets.token_hex(3)}"
    role = ROLE.format(name=role_name)
    alice.goto("/reviews/new/")
    alice.get_by_label("Title").fill("Let people read")
    alice.get_by_label("Namespace").fill("shop")
    bring_manifests(alice, role, "Create plan")
    review = alice.url
    expect(alice.locator("[data-review-header]")).to_contain_text("then bob approves")

    # The approver agrees, takes that back, and asks for changes; the author reads why.
    approve(bob, review, 1)
    open_tab(bob, "Overview")
    bob.get_by_role("button", name="Revoke my approval").click()
    expect(bob.locator(".messages")).to_contain_text("Approval revoked.")
    open_consent(bob, review, 1)
    expect(bob.locator(".approval-form .facts")).to_contain_text(
        re.compile(rf"RBAC changes ·\s+acknowledged by bob:\s+Role/{role_name}")
    )
    bob.get_by_label("Request changes").check()
    bob.locator("#id_note").fill("Let them list as well.")
    bob.get_by_role("button", name="Request changes").click()
    expect(bob.get_by_role("button", name="Withdraw request for changes")).to_be_visible()
    alice.reload()
    expect(alice.locator(".track")).to_contain_text("changes requested")
    expect(alice.locator("#overview")).to_contain_text("Let them list as well.")

    # An edit makes the next plan, and says what moved; another one drops the approval, and says whose.
    bring_other_manifests(alice, role.replace("[get]", "[get, list]"))
    expect(alice.locator("#overview")).to_contain_text("Changed since plan 1")
    expect(alice.locator("#overview")).to_contain_text("rules:")
    approve(bob, review, 2)
    alice.reload()
    bring_other_manifests(alice, role.replace("[get]", "[get, list, watch]"))
    expect(alice.locator("#overview")).to_contain_text("The approvals of bob do not apply to this plan.")
    expect(alice.locator(".track")).to_contain_text("0 of 1")
    open_consent(bob, review, 3)
    bob.get_by_label("Apply when approved").check()
    bob.get_by_role("button", name=re.compile("Approve and apply")).click()
    bob.wait_for_url("**/runs/*/")
    expect(bob.get_by_role("heading", level=1)).to_contain_text("Applied")


@pytest.mark.long
def test_outsider_sees_nothing_and_an_auditor_reads_all(sign_in, product):
    dana, name = sign_in("dana"), f"eve-{secrets.token_hex(3)}"
    addresses = ["/reviews/1/", "/reviews/1/plans/1/", "/runs/1/", "/history/?run=1", "/"]
    product.passwords[name] = make_account(dana, name)

    # Without a role: neither what is there nor its number, and a page that says what is missing.
    outsider = sign_in(name, is_let_in=False)
    assert read_all(outsider, ["/reviews/4711/", *addresses]) == [404] * 6
    expect(outsider.get_by_role("heading", level=1)).to_have_text("You don't have a role yet")

    dana.get_by_label("Role", exact=True).select_option("auditor")
    dana.get_by_role("button", name="Grant").click()
    expect(dana.locator("table.rows").first).to_contain_text("auditor")
    assert read_all(outsider, addresses) == [200] * 5
    outsider.goto("/reviews/2/")
    expect(outsider.locator("[data-review-header]")).to_contain_text("Only approvers can approve")
    expect(outsider.locator(".next-acts")).to_have_count(0)


@pytest.mark.long
def test_policy_asks_for_more_and_the_plan_says_so(sign_in):
    alice, bob, dana = sign_in("alice"), sign_in("bob"), sign_in("dana")
    files = {"greeter.yaml": DEPLOYMENT.format(replicas=1, version="3"), "secret.yaml": SECRET.format(version=7)}
    open_review(alice, "One more greeter", files)
    review = alice.url

    dana.goto("/settings/policies/new/")
    dana.get_by_label("Slug").fill("careful")
    dana.get_by_label("Clusters").fill("demo")
    dana.get_by_label("Approvals", exact=True).fill("2")
    dana.get_by_role("button", name="Publish version").click()
    expect(dana.get_by_role("heading", level=1)).to_contain_text("careful version 1")
    try:
        bob.goto(review)
        expect(bob.locator("[data-review-header]")).to_contain_text("the policy changed since this plan was created")
        alice.goto(review)
        alice.get_by_role("button", name="Re-plan").first.click()
        expect(alice.locator(".track")).to_contain_text("0 of 2")
    finally:
        dana.get_by_text("Archive policy…").click()
        dana.get_by_role("button", name="Archive policy", exact=True).click()
        expect(dana.locator(".messages")).to_contain_text("Policy archived.")
