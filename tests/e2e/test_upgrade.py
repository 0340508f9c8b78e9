"""An ingress controller is upgraded over three releases through the pages alone, its immutable Jobs included.

Nobody needs kubectl: the refused Jobs offer their replacement, one by one or together, and the approver applies it.
"""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_tab, show_alone
from tests.e2e.test_main_job import drop_files
from tests.e2e.test_plan_others import look_at
from tests.e2e.test_resolutions import apply, wait_for_plan
from tests.edge import JOBS, RELEASES, write_release

pytestmark = [pytest.mark.e2e, pytest.mark.long]
APPLIED = (19, 18, 19)  # of each release; the namespace does not change again


def open_release(page: Page, number: int, prefix: str, mode: str) -> str:
    """Bring a release and wait for its plan; gives the address of the review."""
    release = RELEASES[number]
    page.goto("/reviews/new/")
    drop_files(page, {"deploy.yaml": write_release(release, prefix)})
    page.get_by_label("Title").fill(f"{prefix} {release.version}")
    page.get_by_role("radio", name=re.compile(f"^{mode}")).check()
    page.get_by_role("button", name="Create plan").click()
    wait_for_plan(page, 1)
    found = re.search(r"/reviews/\d+/", page.url)
    assert found
    return found[0]


def replace_one_by_one(page: Page, prefix: str) -> None:
    """Choose the replacement of each refused Job on its page, each of which makes a plan."""
    for number, job in enumerate(JOBS):
        open_tab(page, "Changes")
        show_alone(page, f"/{prefix}-{job}")
        page.get_by_role("button", name=f"Replace Job/{prefix}-{job}").click()
        wait_for_plan(page, number + 2)


def replace_together(page: Page, prefix: str) -> None:
    """Choose the replacement of both from the Overview."""
    page.locator("#others").get_by_role("button", name="Replace 2 objects").click()
    wait_for_plan(page, 2)


@pytest.mark.parametrize("mode", ["Server-side", "Client-side"])
def test_upgrade_is_finished_on_the_pages(sign_in, mode):
    alice, bob = sign_in("alice"), sign_in("bob")
    prefix = f"edge-{mode.partition('-')[0].lower()}"
    apply(bob, open_release(alice, 0, prefix, mode))
    expect(bob.locator("main")).to_contain_text(f"{APPLIED[0]} of {APPLIED[0]} objects applied")

    for number, choose in ((1, replace_one_by_one), (2, replace_together)):
        address = open_release(alice, number, prefix, mode)
        open_tab(alice, "Overview")
        expect(alice.locator("#others")).to_contain_text("2 objects block the others")
        look_at(alice, f"upgrade-refused-{number}")
        choose(alice, prefix)
        expect(alice.locator("#strip .counts")).to_have_attribute("aria-label", re.compile("2 to replace"))
        apply(bob, address)
        expect(bob.locator("main")).to_contain_text(f"{APPLIED[number]} of {APPLIED[number]} objects applied")
    look_at(bob, "upgrade-run")
