"""The whole story of deciding, in real browsers: by keyboard, home to the file, a rule by two people, undone."""

import re
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import find_violations
from tests.e2e.conftest import open_dangers, open_page, open_tab, show_alone
from tests.e2e.test_main_job import drop_files

pytestmark = pytest.mark.e2e

NAMES = ("decider-one", "decider-two")
MANIFEST = """\
# the {name}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  level: {level} # of what is logged
  colour: {colour}
  size: {size}
"""


def write_files(level: str, colour: str, size: str, names: tuple[str, ...] = NAMES) -> dict[str, str]:
    """One file for each object; somebody else writes other values."""
    return {f"{name}.yaml": MANIFEST.format(name=name, level=level, colour=colour, size=size) for name in names}


def open_review(page: Page, title: str, files: dict[str, str], *, manager: str) -> str:
    """Bring manifests under a field manager of their own and wait for the plan; gives the address of the review."""
    page.goto("/reviews/new/")
    drop_files(page, files)
    page.get_by_label("Title").fill(title)
    page.get_by_label("Namespace").fill("shop")
    page.get_by_label("Field manager", exact=True).fill(manager)
    page.get_by_role("button", name="Create plan").click()
    wait_for_plan(page, 1)
    found = re.search(r"/reviews/\d+/", page.url)
    assert found
    return found[0]


def wait_for_plan(page: Page, number: int) -> None:
    """The plan of this number is whole when its track says what is next."""
    expect(page.locator("[data-review-header] h1")).to_contain_text(f"plan {number}")
    expect(page.locator(".track")).to_contain_text(re.compile("no open conflicts|to acknowledge|is next|not complete"))


def apply(page: Page, address: str) -> None:
    """Approval as the approver and wait for the end of the run."""
    page.goto(address)
    open_dangers(page)
    page.goto(address)
    page.get_by_role("link", name=re.compile("Approve plan")).click()
    page.get_by_label("Apply when approved").check()
    page.get_by_role("button", name=re.compile("Approve and apply")).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Applied")
    expect(page.locator("main")).to_contain_text("Applied")


def open_object(page: Page, address: str, name: str) -> None:
    """The object alone; filtered, because objects with identical changes are one block."""
    page.goto(address)
    open_tab(page, "Changes")
    page.goto(f"{page.url.partition('#')[0].partition('?')[0]}?q={name}")
    if page.locator("[data-item]", has_text="unchanged").count():
        page.locator("[data-item] a").first.click()
    show_alone(page, f"/{name}")


def conflict_row(alice: Page, bob: Page, names: tuple[str, ...] = NAMES) -> str:
    """Objects of one field manager, planned by another with other values: three conflicts in each."""
    first = open_review(alice, "Theirs", write_files("info", "red", "small", names), manager="settings-operator")
    apply(bob, first)
    return open_review(alice, "Ours", write_files("debug", "blue", "large", names), manager="shop-team")


def count_chosen(alice: Page, address: str) -> None:
    """In the scroll of all changes the bar of an object counts the conflicts that have a choice."""
    alice.goto(f"{address}plans/1/changes/")
    bar = alice.locator("[data-resolve].is-many").first
    expect(bar).to_contain_text("3 conflicts to resolve")
    alice.keyboard.press("c")
    alice.keyboard.press("2")
    expect(bar.locator("[data-chosen]")).to_have_text("1 of 3 chosen")
    alice.keyboard.press("c")
    alice.keyboard.press("1")
    expect(bar.locator("[data-chosen]")).to_have_text("2 of 3 chosen")


def send_nothing(alice: Page) -> None:
    """Without a choice nothing is sent: the first option says so, and the reason stays where it was typed."""
    here, reason = alice.url, alice.locator('[id^="deciding-note"]')
    reason.fill("half a thought")
    alice.locator('form[id^="deciding-"] button[value="decide"]').click()
    assert alice.evaluate("document.activeElement.validationMessage") == "Choose a resolution first."
    assert (alice.url, reason.input_value()) == (here, "half a thought")
    reason.fill("")
    alice.locator("[data-conflict]").first.click(position={"x": 2, "y": 2})


def decide_mixed(alice: Page, address: str) -> None:
    """Mixed choices by keyboard: the page says what force is, and what would be sent."""
    open_object(alice, address, NAMES[0])
    expect(alice.locator("[data-conflict]")).to_have_count(3)
    expect(alice.locator("[data-option]:checked")).to_have_count(0)
    send_nothing(alice)
    for way in ("1", "2", "3"):
        alice.keyboard.press("c")
        alice.keyboard.press(way)
    assert alice.locator("[data-option]:checked").evaluate_all("all => all.map(one => one.dataset.option)") == [
        "1",
        "2",
        "3",
    ]
    expect(alice.locator("[data-resolve].is-many")).to_contain_text("--force-conflicts applies to the whole request")
    alice.get_by_role("button", name="Preview request").click()
    expect(alice.locator(".preview")).to_contain_text("force affects only the fields that you overwrite")
    assert find_violations(alice) == []
    alice.get_by_label("Why").fill("agreed with the operator's team")
    alice.get_by_role("button", name="Resolve 3 fields").click()
    wait_for_plan(alice, 2)


def bring_home(alice: Page, address: str, folder: Path) -> None:
    """What was decided, by whom, and its edit for the file, which the real git takes."""
    open_object(alice, address, NAMES[0])
    decided = alice.locator(".decided")
    expect(decided).to_contain_text("by alice")
    expect(decided).to_contain_text("agreed with the operator's team")
    assert find_violations(alice) == []
    whole = decided.locator("> .patch")
    whole.locator("summary").click()
    with alice.expect_download() as waiting:
        whole.get_by_role("link", name="Download", exact=True).click()
    before = write_files("debug", "blue", "large")[f"{NAMES[0]}.yaml"]
    source = folder / f"{NAMES[0]}.yaml"
    source.write_text(before)
    subprocess.run(["git", "apply", waiting.value.path()], cwd=folder, check=True)
    after = source.read_text().splitlines()
    assert sum(line not in after for line in before.splitlines()) == 2


def agree_on_a_rule(alice: Page, bob: Page, address: str) -> None:
    """A decision becomes a rule for both objects, when a second person agrees; plans made before are out of date."""
    open_object(alice, address, NAMES[0])
    alice.get_by_role("link", name=re.compile("Always resolve this way…")).last.click()
    alice.get_by_label("Names", exact=True).fill("decider-*")
    alice.get_by_label("Why").fill("it is theirs")
    assert find_violations(alice) == []
    alice.get_by_role("button", name="Propose").click()
    expect(alice.locator(".rule").first).to_contain_text("An approver other than the proposer must approve it.")
    bob.goto("/clusters/demo/rules/")
    assert find_violations(bob) == []
    bob.get_by_role("button", name=re.compile("Approve rule")).first.click()
    expect(bob.locator(".messages")).to_contain_text("It applies to new plans.")
    bob.goto(address)
    expect(bob.locator(".review-header")).to_contain_text("conflict rule")


def decide_the_rest(alice: Page, address: str) -> None:
    """All that is left with one field manager is decided at once; where the rule answers, the plan says so."""
    open_object(alice, address, NAMES[1])
    alice.locator(".everywhere summary").click()
    alice.get_by_label("all conflicts with settings-operator in the plan").check()
    alice.locator(".everywhere").get_by_label("Give up the field").check()
    alice.get_by_role("button", name="Preview", exact=True).click()
    alice.get_by_role("button", name="Resolve 3 fields").click()
    wait_for_plan(alice, 3)
    open_object(alice, address, NAMES[1])
    expect(alice.locator(".decided")).to_contain_text("by alice")


def undo_until_the_rule_answers(alice: Page, address: str) -> None:
    """One is undone, and it is on record; where a conflict rule says something, it answers instead."""
    undone = alice.locator(".decided li", has_text=".data.size").get_by_role("button")
    undone.click()
    wait_for_plan(alice, 4)
    open_object(alice, address, NAMES[1])
    expect(alice.locator(".decided li", has_text=".data.size")).to_contain_text("conflict rule")
    alice.goto("/history/?action=resolution.undone")
    expect(alice.locator("main")).to_contain_text("undid a resolution")


@pytest.mark.long
def test_conflicts_are_decided_home_and_made_a_rule(sign_in, tmp_path):
    alice, bob = sign_in("alice"), sign_in("bob")
    address = conflict_row(alice, bob)

    count_chosen(alice, address)
    decide_mixed(alice, address)
    bring_home(alice, address, tmp_path)
    agree_on_a_rule(alice, bob, address)
    decide_the_rest(alice, address)
    undo_until_the_rule_answers(alice, address)

    bob.goto("/clusters/demo/rules/")
    bob.get_by_role("button", name="Revoke").first.click()
    expect(bob.locator(".messages")).to_contain_text("revoked")
    bob.goto(address)
    expect(bob.locator(".review-header")).to_contain_text("conflict rule")


@pytest.mark.long
def test_deciding_needs_no_script(product, browser, sign_in):
    alice = sign_in("alice")
    address = conflict_row(alice, sign_in("bob"), ("plain-one",))
    session = alice.context.storage_state()
    plain = browser.new_context(base_url=product.url, java_script_enabled=False, storage_state=session)
    page = open_page(plain)
    open_object(page, address, "plain-one")

    page.locator("[data-option='2']").first.check()
    page.get_by_role("button", name="Resolve fields").click()

    expect(page).to_have_url(re.compile(r"/plans/2/$"))
    plain.close()


@pytest.mark.long
def test_conflict_page_has_no_finding_and_fits(sign_in):
    page = sign_in("alice")
    for address in ("/reviews/2/plans/1/changes/", "/clusters/demo/rules/"):
        page.goto(address)
        for fold in page.locator(".conflict .patch summary, .everywhere summary").all():
            fold.click()
        assert find_violations(page) == []
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.set_viewport_size({"width": 1440, "height": 1000})
