"""The whole main job: bring manifests, read the plan, agree, apply, look back; by author and approver."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_tab, show_alone

pytestmark = pytest.mark.e2e

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: greeter
spec:
  replicas: {replicas}
  selector:
    matchLabels: {{app: greeter}}
  template:
    metadata:
      labels: {{app: greeter}}
    spec:
      containers:
        - name: greeter
          image: shop/greeter:{version}
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata:
  name: greeter
stringData:
  password: canary-{version}
"""
BROKEN = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [\n"


TABS = [
    ("Diff", "shop/greeter:2"),
    ("Requests", "fieldManager"),
    ("Field owners", "applyviz"),
    ("YAML", "kind: Deployment"),
]


def write_version(version: int, *, replicas: int) -> dict[str, str]:
    """The manifests of one version of the greeter."""
    return {
        "app/greeter.yaml": DEPLOYMENT.format(replicas=replicas, version=version),
        "app/secret.yaml": SECRET.format(version=version),
    }


def drop_files(page: Page, files: dict[str, str]) -> None:
    """Drop files on the form as a person does."""
    transfer = page.evaluate_handle(
        """files => {
            const transfer = new DataTransfer();
            for (const [name, text] of Object.entries(files)) transfer.items.add(new File([text], name));
            return transfer;
        }""",
        files,
    )
    page.dispatch_event("[data-drop]", "drop", {"dataTransfer": transfer})


def open_review(page: Page, title: str, files: dict[str, str]) -> None:
    """Bring manifests and wait for the whole plan."""
    page.goto("/reviews/new/")
    drop_files(page, files)
    expect(page.get_by_text(f"{len(files)} objects found")).to_be_visible()
    page.get_by_label("Title").fill(title)
    page.get_by_label("Why").fill("Because the greeter greets.")
    page.get_by_label("Namespace").fill("shop")
    page.get_by_role("button", name="Create plan").click()
    expect(page.locator(".track")).to_contain_text("no open conflicts")


def approve_and_apply(page: Page, address: str) -> None:
    """Approval as the approver and watch the run to its end."""
    page.goto(address)
    page.get_by_role("link", name=re.compile("Approve plan")).click()
    page.locator("#id_note").fill("Read it.")
    page.get_by_label("Apply when approved").check()
    page.get_by_role("button", name=re.compile("Approve and apply")).click()
    page.wait_for_url("**/runs/*/")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Applied")


def test_manifests_are_brought_read_agreed_applied_and_found_again(sign_in):
    alice, bob = sign_in("alice"), sign_in("bob")
    first = {
        "app/greeter.yaml": DEPLOYMENT.format(replicas=2, version="1"),
        "app/secret.yaml": SECRET.format(version=1),
    }
    open_review(alice, "Greeter 1", first)
    expect(alice.locator("#strip .counts")).to_have_attribute("aria-label", "2 to create")
    expect(alice.locator("[data-review-header]")).to_contain_text("Only approvers can approve")

    approve_and_apply(bob, alice.url)
    expect(bob.locator("#run-strip")).to_contain_text("2 of 2 objects applied")

    second = {
        "app/greeter.yaml": DEPLOYMENT.format(replicas=3, version="2"),
        "app/secret.yaml": SECRET.format(version=2),
    }
    open_review(alice, "Greeter 2", second)
    expect(alice.locator(".impact")).to_contain_text("1 image changes")
    open_tab(alice, "Changes")
    show_alone(alice, "Deployment/")
    expect(alice.locator("#pane")).to_contain_text("shop/greeter:1")
    row = alice.locator("[data-field-row]", has_text="image").first
    for part, text in ((".shared", "shop/greeter:"), (".value.was", "1"), (".value.will", "2")):
        expect(row.locator("summary").locator(part)).to_have_text(text)
    row.locator("summary").click()
    expect(row).to_contain_text("app/greeter.yaml")
    expect(row).to_contain_text("Container image name")
    for tab, text in TABS:
        alice.locator(".tabs a", has_text=tab).click()
        expect(alice.locator("#pane")).to_contain_text(text)

    approve_and_apply(bob, alice.url)
    bob.get_by_role("link", name="History", exact=True).click()
    expect(bob.locator("#entries")).to_contain_text("finished an apply run")
    expect(bob.locator("#entries")).to_contain_text("Deployment shop/greeter")
    bob.get_by_label("Person").fill("bob")
    bob.get_by_role("button", name="Filter").click()
    expect(bob.locator("#entries")).to_contain_text("approved a plan")
    expect(bob.locator("#entries")).not_to_contain_text("created a review")
    assert "canary" not in bob.content()


def test_values_of_secrets_reach_no_page(sign_in):
    alice = sign_in("alice")
    open_review(
        alice, "Secrets", {"a.yaml": SECRET.format(version=3), "b.yaml": DEPLOYMENT.format(replicas=2, version="2")}
    )

    open_tab(alice, "Changes")
    show_alone(alice, "Secret/")
    expect(alice.locator("#pane")).to_contain_text("password")
    for tab in ("Fields", "Diff", "Requests", "Field owners", "YAML"):
        alice.locator(".tabs a", has_text=tab).click()
        expect(alice.locator(".tabs a[aria-current]")).to_contain_text(tab)
        assert "canary" not in alice.content()
        assert "Y2FuYXJ5" not in alice.content()


def test_problems_are_told_at_once_and_the_others_go_on(sign_in):
    alice = sign_in("alice")
    alice.goto("/reviews/new/")

    drop_files(alice, {"good.yaml": SECRET.format(version=1), "broken.yaml": BROKEN})

    expect(alice.locator("[data-found]")).to_contain_text("1 problem in the manifests")
    expect(alice.locator("[data-found]")).to_contain_text("broken.yaml:")
    expect(alice.locator("[data-found]")).to_contain_text("1 object found")


ENTRIES = """() => {
    DataTransferItem.prototype.webkitGetAsEntry = function () {
        const file = this.getAsFile();
        return { isFile: true, name: file.name, file: (found) => found(file) };
    };
}"""


def test_dropped_files_that_are_no_manifests_are_told(sign_in):
    alice = sign_in("alice")
    alice.goto("/reviews/new/")
    alice.evaluate(ENTRIES)  # as for files of a real folder, which a script cannot drop

    drop_files(alice, {"notes.txt": "to do", "good.yaml": SECRET.format(version=1)})
    expect(alice.locator("[data-chosen] li")).to_have_text(["good.yaml"])

    drop_files(alice, {"notes.txt": "to do"})
    expect(alice.locator("[data-chosen] li")).to_have_text(["notes.txt"])
    expect(alice.locator("[data-found]")).to_contain_text("1 problem in the manifests")


def test_objects_and_tabs_are_reached_by_keyboard(sign_in):
    alice = sign_in("alice")
    alice.goto("/reviews/2/plans/1/changes/")
    current = alice.locator("[data-item] a[aria-current]")
    first = current.get_attribute("href")

    alice.keyboard.press("j")
    expect(current).not_to_have_attribute("href", first or "")
    alice.keyboard.press("k")
    expect(current).to_have_attribute("href", first or "")
    alice.keyboard.press("f")
    alice.keyboard.type("wishlist service")
    expect(alice.locator("[data-item]:visible")).to_have_count(1)
    alice.keyboard.press("Escape")
    expect(alice.locator("[data-item]:visible")).not_to_have_count(1)
    show_alone(alice)
    alice.keyboard.press("2")
    expect(alice.locator(".tabs a[aria-current]")).to_have_text("Diff")
    alice.get_by_role("link", name="Show among all changes").click()
    expect(alice).to_have_url(re.compile(r"/changes/\?at=\d+#object-\d+$"))


def test_pages_work_without_script(sign_in):
    alice = sign_in("alice", java_script_enabled=False)
    alice.goto("/reviews/2/plans/1/changes/")

    alice.locator("[data-item] a", has_text="wishlist").first.click()
    expect(alice.locator("#scroll")).to_contain_text("wishlist")
    show_alone(alice, "/wishlist")
    expect(alice.locator("#pane")).to_contain_text("wishlist")
    alice.locator(".tabs a", has_text="Requests").click()
    expect(alice.locator("#pane")).to_contain_text("fieldManager")
    alice.get_by_role("button", name="Dark").click()
    expect(alice.locator("html")).to_have_attribute("data-theme", "dark")
