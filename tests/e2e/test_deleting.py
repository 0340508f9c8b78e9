"""Objects are deleted through a review, in a browser: form, plan, approval, run, gone, and brought back."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import open_dangers
from tests.e2e.test_main_job import drop_files
from tests.e2e.test_plan_others import look_at
from tests.e2e.test_resolutions import apply, open_review, wait_for_plan

pytestmark = [pytest.mark.e2e, pytest.mark.long]
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: to-be-deleted}\ndata: {a: '1'}\n"
ABSENT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: never-there}\ndata: {a: '1'}\n"


def test_objects_are_deleted_and_brought_back(sign_in):
    alice, bob = sign_in("alice"), sign_in("bob")
    apply(bob, open_review(alice, "Create the settings", {"settings.yaml": SETTINGS}, manager="applyviz"))

    alice.goto("/reviews/new/")
    drop_files(alice, {"settings.yaml": SETTINGS, "absent.yaml": ABSENT})
    alice.get_by_label("Title").fill("Delete the settings")
    alice.get_by_label("Namespace").fill("shop")
    alice.get_by_role("radio", name=re.compile("^Delete")).check()
    expect(alice.get_by_label("Field manager", exact=True)).to_be_hidden()
    look_at(alice, "new-delete")
    alice.get_by_role("button", name="Create plan").click()
    expect(alice.locator("#strip .counts")).to_have_attribute("aria-label", "1 to delete, 1 not found")
    look_at(alice, "delete-plan")

    address = re.search(r"/reviews/\d+/", alice.url)
    assert address
    bob.goto(address[0])
    open_dangers(bob)
    bob.goto(address[0])
    bob.get_by_role("link", name=re.compile("Approve plan")).click()
    bob.get_by_label("Delete when approved").check()
    bob.get_by_role("button", name="Approve and delete 1 object").click()
    expect(bob.locator("main")).to_contain_text("1 of 1 object deleted")
    look_at(bob, "delete-run")

    alice.goto(bob.url)
    alice.get_by_role("button", name=re.compile("Revert")).first.click()
    wait_for_plan(alice, 1)
    expect(alice.locator("#strip .counts")).to_have_attribute("aria-label", "1 to create")
