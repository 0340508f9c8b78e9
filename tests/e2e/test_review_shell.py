"""The frame of a review in a browser: tabs and keys, the drawer of risks, the approve sheet, the phone."""

import re
import secrets

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import find_violations
from tests.e2e.conftest import open_dangers, open_page, open_tab
from tests.e2e.test_main_job import drop_files

pytestmark = pytest.mark.e2e

ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: {name}}}
rules:
  - apiGroups: [""]
    resources: [pods]
    verbs: [get]
"""
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: b}}\n"


def make_review(page: Page, template: str, title: str = "One object") -> str:
    """A review of one new object; gives its address."""
    page.goto("/reviews/new/")
    drop_files(page, {"one.yaml": template.format(name=f"shell-{secrets.token_hex(3)}")})
    expect(page.get_by_text("1 object found")).to_be_visible()
    page.get_by_label("Title").fill(title)
    page.get_by_label("Namespace").fill("shop")
    page.get_by_role("button", name="Create plan").click()
    expect(page.locator("#strip .counts")).to_have_attribute("aria-label", "1 to create")
    found = re.search(r"/reviews/\d+/", page.url)
    assert found
    return found[0]


@pytest.mark.long
def test_frame_keeps_its_measures(sign_in):
    page = sign_in("alice")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/reviews/2/plans/1/changes/")

    bottoms = [page.locator(name).bounding_box() for name in (".review-header", "#strip", ".review-tabs")]

    assert [round(box["y"] + box["height"]) for box in bottoms if box] == [96, 168, 204]
    page.mouse.wheel(0, 3000)
    expect(page.locator(".review-header")).to_be_in_viewport()


@pytest.mark.long
def test_what_a_reader_can_do_is_not_cut_off_in_the_header(sign_in):
    """The reasons for a person with the role break-glass take three lines beside the button."""
    page = sign_in("dana")
    page.goto("/reviews/2/plans/1/graph/")
    why = page.locator("#why")

    expect(why.get_by_role("link", name="Emergency apply…")).to_be_visible()
    assert why.evaluate("one => one.scrollHeight <= one.clientHeight")


@pytest.mark.long
def test_tabs_open_by_keys_and_the_last_one_is_kept(sign_in):
    page = sign_in("alice")
    page.goto("/reviews/2/overview/")
    for name in ("Changes", "Activity"):
        number = page.locator("[data-review-tab]", has_text=name).get_attribute("data-review-tab")
        page.wait_for_load_state()
        page.keyboard.press("g")
        page.keyboard.press(number or "")
        expect(page.locator("[data-review-tab][aria-current]")).to_contain_text(name)
    open_tab(page, "Requests")
    page.goto("/reviews/2/")

    expect(page.locator("[data-review-tab][aria-current]")).to_contain_text("Requests")
    page.keyboard.press("g")
    page.keyboard.press("b")
    expect(page.locator("[data-next-act]")).to_be_focused()


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1440])
def test_names_of_workloads_that_restart_are_whole(sign_in, width):
    page = sign_in("bob", reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/reviews/2/plans/1/overview/")
    name = page.locator(".card.pods tbody th").first
    lines = "one => { const r = document.createRange(); r.selectNodeContents(one); return r.getClientRects().length; }"
    assert name.evaluate(lines) == 1
    name.evaluate("one => one.textContent = 'blackbox-exporter-of-the-second-zone'")

    assert name.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert page.locator(".card.pods").evaluate("one => one.scrollWidth <= one.clientWidth")


@pytest.mark.long
def test_risk_is_acknowledged_in_the_drawer(sign_in):
    page = sign_in("alice")
    address = make_review(page, ROLE)
    page.goto(f"{address}overview/")
    drawer, count = page.locator("#drawer"), page.locator("#strip [data-risks]")
    expect(count).to_have_attribute("aria-expanded", "false")

    page.keyboard.press("r")
    expect(drawer).to_be_visible()
    expect(page.locator("#risks-heading")).to_be_focused()
    expect(count).to_have_attribute("aria-expanded", "true")
    assert find_violations(page) == []
    page.keyboard.press("j")
    expect(page.locator("#risk-rbac")).to_be_focused()
    page.keyboard.press("a")

    expect(drawer.locator(".said")).to_have_text("Acknowledged for 1 object.")
    expect(count).to_contain_text("1 of 1 acknowledged")
    expect(page.locator("#risks .is-done")).to_contain_text("acknowledged")
    expect(page.locator("[data-review-header]")).not_to_contain_text("to acknowledge")
    assert find_violations(page) == []
    drawer.get_by_role("button", name=re.compile("Undo")).click()
    expect(count).to_contain_text("0 of 1 acknowledged")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(count).to_be_focused()


@pytest.mark.long
def test_drawer_gives_focus_to_the_next_act_once_all_is_acknowledged(sign_in):
    """The link that opened it is gone then, and one key goes on."""
    page = sign_in("alice")
    page.goto(f"{make_review(page, ROLE)}overview/")
    page.get_by_role("link", name=re.compile("to acknowledge")).first.press("Enter")
    expect(page.locator("#risk-rbac")).to_be_focused()

    page.keyboard.press("a")
    expect(page.locator("#drawer")).to_contain_text("1 of 1 high risk acknowledged")
    page.keyboard.press("Escape")

    expect(page.locator("[data-next-act]")).to_be_focused()


@pytest.mark.long
def test_risks_are_acknowledged_without_script(sign_in, product, browser):
    alice = sign_in("alice")
    address = make_review(alice, ROLE)
    plain = browser.new_context(
        base_url=product.url, java_script_enabled=False, storage_state=alice.context.storage_state()
    )
    page = open_page(plain)
    page.goto(f"{address}overview/")
    page.locator("#strip [data-risks]").click()
    page.get_by_role("button", name=re.compile("^Acknowledge RBAC")).click()

    expect(page).to_have_url(re.compile(r"/risks/#risk-rbac$"))
    expect(page.locator("#risk-rbac")).to_contain_text("acknowledged by alice")
    plain.close()


@pytest.mark.long
def test_plan_is_approved_in_the_sheet(sign_in):
    alice, bob = sign_in("alice"), sign_in("bob", is_let_in=False)  # a 422 is told on the console
    address = make_review(alice, ROLE)
    bob.goto(address)
    open_dangers(bob)
    bob.goto(f"{address}overview/")
    bob.get_by_role("link", name=re.compile("Approve plan")).click()
    sheet = bob.locator("dialog[data-sheet]")
    expect(sheet).to_be_visible()
    expect(sheet.get_by_role("radio", name=re.compile("^Approve"))).to_be_focused()
    assert find_violations(bob) == []

    sheet.get_by_role("radio", name=re.compile("^Request changes")).check()
    sheet.get_by_role("button", name="Request changes").click()
    expect(sheet.locator("#note-error")).to_have_text("Say what needs to change.")
    expect(sheet.locator("#id_note")).to_be_focused()
    sheet.locator("#id_note").fill("Fine for me.")
    sheet.get_by_role("radio", name=re.compile("^Approve")).check()
    expect(sheet.get_by_label("Apply when approved")).not_to_be_checked()
    sheet.locator("#id_note").press("Control+Enter")

    expect(bob.locator(".messages")).to_contain_text("You approved plan 1.")
    expect(bob.locator("[data-next-act]")).to_have_text("Apply 1 change")


def test_two_clicks_on_a_phone_approve_what_has_no_high_risk(sign_in):
    alice, bob = sign_in("alice"), sign_in("bob")
    address = make_review(alice, SETTINGS)
    bob.set_viewport_size({"width": 390, "height": 844})
    bob.goto(f"{address}overview/")
    act = bob.locator("[data-next-act]")
    box = act.bounding_box()
    assert box
    assert (box["height"] >= 44, box["y"] + box["height"] <= 844) == (True, True), "in the bar at the bottom"
    assert bob.evaluate("document.documentElement.scrollWidth") <= 390

    act.click()
    bob.get_by_role("button", name="Approve", exact=True).click()

    expect(bob.locator(".messages")).to_contain_text("You approved plan 1.")


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1440])
def test_problems_of_form_and_sources_are_shown_together(sign_in, width):
    page = sign_in("alice", is_let_in=False)  # a 422 is told on the console
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/reviews/new/")
    page.locator("[data-text]").fill("a: [")
    page.get_by_label("Title").fill("x")
    page.get_by_label("Namespace").fill("Not A Name")
    page.get_by_role("button", name="Create plan").click()

    expect(page.locator("[data-error-summary]")).to_contain_text("Use lowercase letters")
    expect(page.locator("#found")).to_contain_text("pasted.yaml:2:1")


@pytest.mark.long
def test_chosen_files_stay_after_an_error(sign_in):
    page = sign_in("alice", is_let_in=False)  # a 422 is told on the console
    page.goto("/reviews/new/")
    drop_files(page, {"one.yaml": SETTINGS.format(name="kept")})
    page.get_by_label("Title").fill("x")
    page.get_by_label("Namespace").fill("Not A Name")
    with page.expect_response(lambda answer: answer.request.method == "POST" and "/check/" not in answer.url) as answer:
        page.get_by_role("button", name="Create plan").click()
    assert answer.value.status == 422

    expect(page.locator("[data-error-summary]")).to_be_focused()
    expect(page.locator("[data-chosen]")).to_contain_text("one.yaml")
    assert page.locator("[data-files]").evaluate("input => input.files.length") == 1


@pytest.mark.long
def test_overview_of_a_short_plan_has_no_empty_row(sign_in):
    """The facts are longer than everything else of a plan of one object: the other cards stand beside them."""
    page = sign_in("alice")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{make_review(page, SETTINGS)}overview/")

    boxes = {name: page.locator(f".card.{name}").bounding_box() for name in ("risks", "kinds", "latest", "about")}

    assert None not in boxes.values()
    ends = {name: box["y"] + box["height"] for name, box in boxes.items() if box}
    assert boxes["kinds"]["y"] - ends["risks"] < 24
    assert boxes["latest"]["y"] - ends["kinds"] < 24
    assert boxes["latest"]["width"] == boxes["kinds"]["width"], "nothing is empty beside it"
    assert ends["latest"] < ends["about"] + 24


OWN_IMAGE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: checkout, labels: {{told: {name}}}}}
spec: {{template: {{spec: {{containers: [{{name: checkout, image: "shop/checkout:9"}}]}}}}}}
"""
OTHER_ADDRESS = """\
apiVersion: v1
kind: Service
metadata: {{name: frontend, labels: {{told: {name}}}}}
spec: {{clusterIP: 10.0.9.9, ports: [{{port: 80}}]}}
"""


def open_changes(page: Page, template: str, manager: str) -> None:
    """Open the Changes of a plan of one object that is live already."""
    page.goto("/reviews/new/")
    drop_files(page, {"one.yaml": template.format(name=secrets.token_hex(3))})
    page.get_by_label("Title").fill("One live object")
    page.get_by_label("Namespace").fill("shop")
    page.get_by_label("Field manager", exact=True).fill(manager)
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(page.locator("[data-stream]")).to_have_count(0)
    open_tab(page, "Changes")


@pytest.mark.long
def test_two_operations_of_one_manager_are_told_apart(sign_in):
    """A manager that set the image by an update owns other fields by apply afterwards."""
    page = sign_in("alice")
    open_changes(page, OWN_IMAGE, "kubectl-set")

    owners = page.locator(".change summary .owner", has_text="kubectl-set")
    said = [one.locator(".how").inner_text() for one in owners.all() if one.locator(".how").is_visible()]

    assert sorted(said) == ["Apply", "Update"]


@pytest.mark.long
def test_button_stands_in_the_line_of_its_choice(sign_in):
    page = sign_in("alice")
    open_changes(page, OTHER_ADDRESS, "applyviz")
    act = page.locator(".post-action", has_text="Replace Service/frontend").first

    choice, button = act.evaluate(
        """one => ["select", "button"].map(name => {
          const box = one.querySelector(name).getBoundingClientRect();
          return [box.top, box.bottom];
        })"""
    )

    assert choice == pytest.approx(button, abs=0.5)
