"""A phone of 390 pixels: a bar with the way back and the title, changes first, nothing cut, targets for thumbs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Page, expect

from applyviz.web.components.badges import Appearance
from applyviz.web.reviews.pages.live_bar import DifferingObject, LiveBar

pytestmark = pytest.mark.e2e
PLAN = "/reviews/2/plans/1"
SIZE = {"width": 390, "height": 844}
MOST_HEADER, FIRST_ROW, LEAST = 200, 420, 44
PAGES = [
    "/",
    "/reviews/",
    f"{PLAN}/overview/",
    f"{PLAN}/changes/",
    f"{PLAN}/changes/?only=4",
    f"{PLAN}/changes/?only=4&view=yaml",
    f"{PLAN}/graph/",
    f"{PLAN}/graph/?view=table",
    f"{PLAN}/owners/",
    f"{PLAN}/requests/",
    f"{PLAN}/activity/",
    f"{PLAN}/risks/",
    f"{PLAN}/confirm/",
    "/runs/1/",
    "/history/",
    "/history/?field=replicas",
    "/notifications/choices/",
    "/clusters/demo/",
    "/clusters/demo/objects/",
    "/clusters/demo/managers/",
    "/clusters/demo/applysets/",
    "/settings/policies/",
    "/settings/calendar/",
    "/settings/tokens/",
    "/playground/conflicts-1/",
    "/playground/",
    "/guide/",
    "/guide/conflicts/",
    "/search/?q=replicas",
    "/runs/",
]
# Text that ends in an ellipsis or is cut off at the edge of its box; the title of the bar is on the page below, too.
FIND_CUT = """() => [...document.querySelectorAll("body *")]
  .filter(one => one.checkVisibility({ visibilityProperty: true }) && one.childNodes.length
    && !one.closest(".sr-only, .skip, thead, pre, code, .title-bar, .created, .diff, .lines, svg")
    && !one.matches("textarea, input, select"))
  .filter(one => {
    const style = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    if (box.width <= 1 || box.height <= 1) return false;
    const isWide = ["hidden", "clip"].includes(style.overflowX) && one.scrollWidth > one.clientWidth + 1;
    const isTall = ["hidden", "clip"].includes(style.overflowY) && one.scrollHeight > one.clientHeight + 1;
    return isWide || isTall || box.right > innerWidth + 1 && !one.closest("[tabindex='0'], nav");
  })
  .map(one => `${one.tagName} ${one.className}: ${one.innerText.trim().slice(0, 60)}`)"""
# A link within a sentence is exempt (WCAG 2.5.8); a checkbox is as large as its label.
FIND_SMALL = """least => [...document.querySelectorAll(
  "a[href], button, summary, select, input:not([type=hidden]), textarea, [role=button], [role=link]")]
  .map(one => one.matches("[type=checkbox], [type=radio]") ? one.labels?.[0] ?? one : one)
  .filter(one => one.checkVisibility({ visibilityProperty: true })
    && !one.closest("noscript, .skip, .sr-only, svg, details:not([open]) > :not(summary)"))
  .filter(one => {
    const line = one.matches("a, .linklike") && one.closest("p, dd, td, .why, .said, figcaption");
    const around = line ? line.innerText.replaceAll(one.innerText, "").trim() : "";
    return !(getComputedStyle(one).display === "inline" && /\\w+\\W+\\w+/.test(around));
  })
  .filter(one => Math.max(one.getBoundingClientRect().height, one.querySelector("*")?.offsetHeight ?? 0) < least - 0.5)
  .map(one => `${one.tagName}.${one.className} in ${one.parentElement.tagName}.${one.parentElement.className} `
    + `"${one.innerText.trim().slice(0, 30)}": ${one.getBoundingClientRect().height}`)"""

# Words that break where no sign of an address or a name lets them; a digest has no such sign.
FIND_BROKEN = """() => {
  const broken = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const top = (text, at) => {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getClientRects()[0]?.top;
  };
  while (walker.nextNode()) {
    const text = walker.currentNode;
    const around = text.parentElement;
    if (!around.checkVisibility({ visibilityProperty: true })) continue;
    if (around.closest("pre, svg, textarea, .sr-only, .diff, .yaml, .digest")) continue;
    for (const word of text.data.matchAll(/\\S{2,}/g)) {
      const tops = [...word[0]].map((_, n) => top(text, word.index + n));
      if (tops.some((at, n) => n && Math.abs(at - tops[n - 1]) > 4 && !/[-/?]/.test(word[0][n - 1])))
        broken.push(`${around.tagName} ${around.className}: ${word[0]}`);
    }
  }
  return broken;
}"""

# Labels of facts that stand higher or lower than the first line of their text beside them.
FIND_SHIFTED = """() => {
  const first = one => {
    const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      if (!walker.currentNode.data.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(walker.currentNode);
      const line = [...range.getClientRects()].find(box => box.width > 1);
      if (line) return line;
    }
  };
  return [...document.querySelectorAll("main dt, .card.risks b")].flatMap(label => {
    const text = label.matches("dt") ? label.nextElementSibling : label.parentElement.querySelector("a");
    if (!text || !label.checkVisibility()) return [];
    const [left, right] = [first(label), first(text)];
    if (!left || !right || right.left < left.right) return [];
    const isBelow = label.matches("b") && right.top >= left.bottom - 1;
    const away = right.bottom - left.bottom;
    return isBelow || Math.abs(away) <= 3 ? [] : [`${label.innerText}: ${away}`];
  });
}"""


@pytest.fixture
def phone(sign_in) -> Page:
    """The browser of an approver, as small as a phone."""
    page = sign_in("bob", has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.set_viewport_size(SIZE)
    return page


def end_of(page: Page, part: str) -> float:
    box = page.locator(part).first.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


@pytest.mark.long
@pytest.mark.parametrize("tab", ["overview", "changes", "graph", "owners", "requests", "activity"])
def test_header_of_a_review_is_low(phone, tab):
    phone.goto(f"{PLAN}/{tab}/")

    assert end_of(phone, "#tab-links") <= MOST_HEADER


@pytest.mark.long
def test_bar_leads_back_and_stays(phone):
    phone.goto(f"{PLAN}/changes/")
    bar = phone.locator(".title-bar")
    expect(bar.get_by_role("heading", level=1)).to_contain_text("Upgrade the web shop")
    phone.mouse.wheel(0, 2000)
    expect(bar).to_be_in_viewport(ratio=1)

    bar.get_by_role("link", name="All reviews").click()

    expect(phone).to_have_url("/reviews/")


def test_menu_of_the_bar_leads_everywhere(phone):
    phone.goto(f"{PLAN}/changes/")
    main = phone.get_by_role("navigation", name="Main")
    expect(main).to_have_count(0)

    phone.get_by_role("button", name="Menu").click()

    expect(main.get_by_role("link", name="Home")).to_be_visible()
    expect(phone.get_by_role("button", name="Sign out")).to_be_visible()
    phone.keyboard.press("Escape")
    expect(main).to_have_count(0)
    phone.get_by_role("button", name="Menu").click()
    main.get_by_role("link", name="Clusters").click()
    expect(phone).to_have_url("/clusters/")


@pytest.mark.long
def test_first_changed_row_is_on_the_first_screen(phone):
    phone.goto(f"{PLAN}/changes/")
    box = phone.locator(".change > details > summary").first.bounding_box()

    assert box is not None
    assert box["y"] <= FIRST_ROW


def show_differing(page: Page, *, can_replan: bool) -> None:
    """Let the next comparison with live answer that one object differs in a field with a long value."""
    fields = (("spec.template.spec.containers.0.image", f"shop/{'x' * 80}:1", f"shop/{'x' * 80}:2"),)
    one = DifferingObject("checkout", "Deployment", "shop", "/", "", fields, "")
    live = LiveBar(
        style=Appearance("≠", "differs", "warn"),
        text="Live differs: 1 object changed since this plan.",
        at=datetime(2026, 1, 2, tzinfo=UTC),
        is_busy=False,
        objects=(one,),
        more="",
        hidden="",
        error="",
        url=f"{PLAN}/live/",
        seconds=600,
        replan_url="/reviews/2/replan/" if can_replan else "",
        advice="" if can_replan else "A run would stop there. An author can re-plan.",
        is_first=False,
    )
    body = render_to_string("reviews/_live_bar.html", {"live": live, "bar_id": "live-bar"})
    page.route("**/live/?bar=*", lambda route: route.fulfill(body=body, content_type="text/html"))


@pytest.mark.long
@pytest.mark.parametrize("can_replan", [True, False])
def test_first_changed_row_is_on_the_first_screen_while_live_differs(phone, can_replan):
    show_differing(phone, can_replan=can_replan)
    phone.goto(f"{PLAN}/changes/")
    bar = phone.locator("#live-bar")
    expect(bar).to_contain_text("Live differs")
    box = phone.locator(".change > details > summary").first.bounding_box()
    assert box is not None
    assert box["y"] <= FIRST_ROW
    expect(bar.get_by_text("when reviewed")).to_be_hidden()

    bar.get_by_label("Show").check()

    expect(bar.get_by_text("when reviewed")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") <= SIZE["width"]
    assert phone.evaluate(FIND_SMALL, LEAST) == []


@pytest.mark.long
def test_list_of_objects_opens_above_the_changes(phone):
    phone.goto(f"{PLAN}/changes/")
    objects = phone.locator("#objects")
    expect(objects).to_be_hidden()
    phone.get_by_role("button", name="Objects").click()
    expect(objects).to_be_visible()

    objects.locator("[data-item] a", has_text="inventory").first.click()

    expect(objects).to_be_hidden()
    heading = phone.locator("[data-scroll-object] h3", has_text="inventory").first
    expect(heading).to_be_in_viewport()
    assert heading.evaluate("one => one.getBoundingClientRect().top") >= end_of(phone, ".title-bar")


@pytest.mark.long
def test_views_open_from_a_button(phone):
    phone.goto(f"{PLAN}/changes/")
    phone.get_by_role("button", name="View").click()

    phone.locator("#views").get_by_role("link", name="All fields").click()

    expect(phone).to_have_url(f"{PLAN}/changes/?show=all")


@pytest.mark.long
def test_failed_step_of_a_run_is_red(phone):
    phone.goto("/runs/1/")

    colors = phone.locator(".run-head .track li").last.evaluate(
        """one => ["is-now", "is-bad", "is-done"].map(state => {
          one.className = state;
          return getComputedStyle(one, "::before").backgroundColor;
        })"""
    )
    assert len(set(colors)) == 3


@pytest.mark.long
@pytest.mark.parametrize(
    ("address", "row", "most"),
    [("/clusters/demo/objects/", ".live-objects tr:not(.kind-head)", 110), ("/runs/1/", ".run-table tbody tr", 110)],
)
def test_rows_of_objects_are_low_and_a_list_is_few_screens(phone, address, row, most):
    phone.goto(address)

    heights = sorted(phone.locator(row).evaluate_all("all => all.map(one => one.offsetHeight)"))
    assert heights[len(heights) // 2] <= most
    assert phone.evaluate("document.documentElement.scrollHeight") <= 7 * SIZE["height"]


@pytest.mark.long
def test_head_of_a_kind_is_as_wide_as_its_objects(phone):
    phone.goto("/clusters/demo/objects/")

    widths = phone.locator(".live-objects .kind-head, .live-objects .kind-head th").evaluate_all(
        "all => all.map(one => one.offsetWidth)"
    )
    assert len(set(widths)) == 1


@pytest.mark.long
def test_lines_of_a_risk_stand_together(phone):
    """The link is as large as a thumb, its line as high as its text."""
    phone.goto(f"{PLAN}/overview/")

    gaps = phone.locator(".card.risks li > div").evaluate_all(
        """all => all.map(one => {
          const [title, link] = ["b", "a"].map(name => one.querySelector(name).getClientRects()[0]);
          const text = document.createRange();
          text.selectNodeContents(one.querySelector("a"));
          return text.getClientRects()[0].top - title.bottom;
        })"""
    )
    assert gaps
    assert max(gaps) < 8


@pytest.mark.long
def test_step_of_a_run_has_words(phone):
    phone.goto("/runs/1/")

    last = phone.locator(".run-head .track li").last
    expect(last.locator("b")).to_be_in_viewport(ratio=1)
    assert last.evaluate("one => one.offsetHeight") > 15, "no dot, but words"


@pytest.mark.core(1)
@pytest.mark.parametrize("address", PAGES)
def test_nothing_is_cut_or_wider_than_the_phone(phone, address):
    phone.goto(address)

    assert phone.evaluate("document.documentElement.scrollWidth") <= SIZE["width"]
    assert phone.evaluate(FIND_CUT) == []


@pytest.mark.core(1)
@pytest.mark.parametrize("address", PAGES)
def test_targets_are_as_large_as_a_thumb(phone, address):
    phone.goto(address)

    assert phone.evaluate(FIND_SMALL, 400), "targets are found"
    assert phone.evaluate(FIND_SMALL, LEAST) == []


@pytest.mark.long
@pytest.mark.parametrize("address", PAGES)
def test_targets_at_a_desk_are_large_enough_for_a_pointer(sign_in, address):
    desk = sign_in("bob", reduced_motion="reduce")
    desk.goto(address)

    assert desk.evaluate(FIND_SMALL, 400), "targets are found"
    assert desk.evaluate(FIND_SMALL, 24) == []


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("part", ["requests/", "overview/", "changes/", "graph/?view=table", "risks/", "confirm/"])
def test_names_and_addresses_break_at_their_signs(sign_in, part, width):
    page = sign_in("bob", reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{PLAN}/{part}")

    assert page.evaluate(FIND_BROKEN) == []


@pytest.mark.long
def test_names_of_owners_break_at_their_signs(phone):
    phone.goto(f"{PLAN}/owners/?object=34")

    expect(phone.locator(".owner-tree .owner .name", has_text="kube-controller-manager").first).to_be_visible()
    assert [broken for broken in phone.evaluate(FIND_BROKEN) if broken.startswith("SPAN name:")] == []


@pytest.mark.long
def test_tools_of_a_tab_stand_below_the_tabs(phone):
    phone.goto(f"{PLAN}/requests/")

    tool = phone.get_by_role("link", name="Download requests").bounding_box()
    assert tool is not None
    assert tool["y"] >= end_of(phone, "#tab-links") - 1
    assert tool["height"] >= LEAST


@pytest.mark.long
def test_list_of_risks_begins_below_the_bar_above_it(phone):
    phone.goto(f"{PLAN}/risks/")

    risks = phone.locator("#risk-list").bounding_box()
    assert risks is not None
    assert risks["y"] == pytest.approx(end_of(phone, "#live-bar"), abs=1)
    assert risks["width"] == SIZE["width"]


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("address", [f"{PLAN}/overview/", f"{PLAN}/confirm/", "/clusters/demo/", "/runs/1/"])
def test_labels_of_facts_stand_in_the_line_of_their_text(sign_in, address, width):
    page = sign_in("bob", has_touch=True, is_mobile=width < 500, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(address)

    assert page.evaluate(FIND_SHIFTED) == []
