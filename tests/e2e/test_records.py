"""The records of an object in a browser: last-applied is set and edited, managedFields are cleared."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_tab
from tests.e2e.test_main_job import drop_files
from tests.e2e.test_plan_others import look_at
from tests.e2e.test_resolutions import apply, open_object, wait_for_plan

pytestmark = [pytest.mark.e2e, pytest.mark.long]


def config(name: str, **data: str) -> str:
    """A ConfigMap as YAML."""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata: {data}\n"


def open_review(page: Page, title: str, text: str, choice: str) -> str:
    """Choose what is done with the object of a file; gives the address of the review."""
    page.goto("/reviews/new/")
    drop_files(page, {"settings.yaml": text})
    page.get_by_label("Title").fill(title)
    page.get_by_label("Namespace").fill("shop")
    page.get_by_role("radio", name=re.compile(f"^{choice}")).check()
    page.get_by_role("button", name="Create plan").click()
    wait_for_plan(page, 1)
    found = re.search(r"/reviews/\d+/", page.url)
    assert found
    return found[0]


def read_annotation(page: Page, name: str) -> str:
    """Return the annotation on the page for editing last-applied, as a new plan reads it."""
    address = open_review(page, "Look", config(name, kept="1"), "Client-side")
    open_object(page, address, name)
    page.get_by_role("link", name="Last-applied…").click()
    return page.get_by_role("textbox").input_value()


def test_last_applied_is_set_and_edited(sign_in):
    alice, bob = sign_in("alice"), sign_in("bob")
    name = "with-a-record"
    apply(bob, open_review(alice, "Create", config(name, kept="1", given="1"), "Client-side"))

    address = open_review(alice, "Set", config(name, kept="1", given="1", more="1"), "Set last-applied")
    expect(alice.locator("main")).to_contain_text("set last-applied")
    look_at(alice, "set-last-applied")
    apply(bob, address)
    assert "more" in read_annotation(alice, name)

    alice.get_by_role("textbox").fill(config(name, kept="1"))
    look_at(alice, "edit-last-applied")
    alice.get_by_role("button", name="Create review").click()
    wait_for_plan(alice, 1)
    expect(alice.get_by_role("heading", level=1)).to_contain_text(f"Edit last-applied of ConfigMap/{name}")
    edited = re.search(r"/reviews/\d+/", alice.url)
    assert edited
    apply(bob, edited[0])
    look_at(bob, "run-of-a-record")
    annotation = read_annotation(alice, name)
    assert ("kept" in annotation, "given" in annotation, "more" in annotation) == (True, False, False)


def test_managed_fields_are_cleared(sign_in):
    alice, bob = sign_in("alice"), sign_in("bob")
    name = "without-owners"
    apply(bob, open_review(alice, "Create", config(name, a="1"), "Server-side"))

    address = open_review(alice, "Clear", config(name, a="1"), "Clear managedFields")
    expect(alice.locator("main")).to_contain_text(re.compile("clear managedFields", re.IGNORECASE))
    open_object(alice, address, name)
    look_at(alice, "clear-managed-fields")
    apply(bob, address)

    again = open_review(alice, "Again", config(name, a="1"), "Server-side")
    open_object(alice, again, name)
    open_tab(alice, "Owners")
    look_at(alice, "owners-after-clearing")
