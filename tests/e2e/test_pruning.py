"""Objects that left the set are pruned in a browser, by allowlist and by ApplySet, and brought back."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_dangers
from tests.e2e.test_main_job import drop_files
from tests.e2e.test_plan_others import look_at
from tests.e2e.test_resolutions import apply, wait_for_plan

pytestmark = [pytest.mark.e2e, pytest.mark.long]


def config(name: str, app: str, value: str) -> str:
    """A ConfigMap that the selector finds."""
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{app: {app}}}}}\ndata: {{a: '{value}'}}\n"
    )


def open_prune(page: Page) -> None:
    """The choices about objects that left the set are folded."""
    page.locator("summary", has_text="objects that are no longer in the manifests").click()


def choose_allowlist(page: Page) -> None:
    """What the selector finds of ConfigMaps, as `kubectl apply --prune -l --prune-allowlist` does."""
    page.get_by_role("radio", name=re.compile("^Client-side")).check()
    open_prune(page)
    page.get_by_role("radio", name=re.compile("^Prune by allowlist")).check()
    page.get_by_label("Label selector").fill("app=pruned-by-list")
    page.locator("#id_prune_allowlist").fill("core/v1/ConfigMap")


def choose_applyset(page: Page) -> None:
    """Return the record of the parent, as `kubectl apply --prune --applyset` writes it; the first plan creates it."""
    open_prune(page)
    page.get_by_role("radio", name=re.compile("^Prune by ApplySet")).check()
    expect(page.locator("#id_prune_allowlist")).to_be_hidden()
    page.locator("#id_applyset").fill("configmaps/pruned-by-set")


WAYS = {"allowlist": choose_allowlist, "applyset": choose_applyset}
COUNTS = {"allowlist": "1 to update, 1 to delete", "applyset": "1 to update, 1 to delete · 1 unchanged (3 objects)"}


def open_set(page: Page, way: str, files: dict[str, str]) -> str:
    """Bring the set with its choice of what is pruned; gives the address of the review."""
    page.goto("/reviews/new/")
    drop_files(page, files)
    page.get_by_label("Title").fill(f"Prune by {way}")
    page.get_by_label("Namespace").fill("shop")
    WAYS[way](page)
    page.get_by_role("button", name="Create plan").click()
    wait_for_plan(page, 1)
    found = re.search(r"/reviews/\d+/", page.url)
    assert found
    return found[0]


@pytest.mark.parametrize("way", WAYS)
def test_object_that_left_the_set_is_pruned_and_brought_back(sign_in, way):
    alice, bob = sign_in("alice"), sign_in("bob")
    app = "pruned-by-list"
    kept, gone = f"kept-by-{way}", f"gone-by-{way}"
    first = {"kept.yaml": config(kept, app, "1"), "gone.yaml": config(gone, app, "1")}
    apply(bob, open_set(alice, way, first))

    address = open_set(alice, way, {"kept.yaml": config(kept, app, "2")})
    expect(alice.locator("#strip .counts")).to_have_attribute("aria-label", COUNTS[way])
    expect(alice.locator("main")).to_contain_text(gone)
    look_at(alice, f"prune-plan-{way}")
    bob.goto(address)
    open_dangers(bob)
    apply(bob, address)
    expect(bob.locator("main")).to_contain_text(f"ConfigMap/{gone}")
    expect(bob.locator("main")).to_contain_text(re.compile("deleted", re.IGNORECASE))
    look_at(bob, f"prune-run-{way}")

    alice.goto(bob.url)
    alice.get_by_role("button", name=re.compile("Revert")).first.click()
    wait_for_plan(alice, 1)
    expect(alice.locator("#strip .counts")).to_have_attribute("aria-label", re.compile("^1 to create"))
