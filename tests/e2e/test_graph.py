"""The graph of a plan in a browser: by keyboard, without a script, on a phone."""

import re

import pytest
from playwright.sync_api import expect

from applyviz.web.reviews.pages.graph.text_width import measure

pytestmark = pytest.mark.e2e
GRAPH = "/reviews/2/plans/1/graph/"


@pytest.mark.long
def test_arrows_follow_references_and_enter_opens_the_object(sign_in):
    page = sign_in("alice")
    page.goto(GRAPH)
    node = page.get_by_role("link", name="update Service catalog")
    node.focus()

    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("link", name="update Deployment catalog")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(node).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("link", name="update Service frontend")).to_be_focused()
    assert page.locator(".line.is-near").count() > 0
    page.keyboard.press("Space")
    expect(page.locator(".graph-panel h2")).to_contain_text("Service/frontend")
    page.locator("[data-node][aria-current]").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/changes/\?at=\d+#object-\d+$"))
    expect(page.locator(":target")).to_be_in_viewport()  # the block of identical changes, which names it
    expect(page.locator(":target .members")).to_contain_text("frontend")


@pytest.mark.long
def test_escape_clears_what_is_chosen(sign_in):
    page = sign_in("alice")
    page.goto(f"{GRAPH}?node=deployment/checkout")
    expect(page.locator(".graph-panel h2")).to_contain_text("Deployment/checkout")

    page.locator("[data-node][aria-current]").focus()
    page.keyboard.press("Escape")

    expect(page.locator(".graph-panel h2")).to_have_count(0)


@pytest.mark.long
def test_graph_can_be_read_and_walked_without_a_script(sign_in):
    page = sign_in("alice", java_script_enabled=False)
    page.goto(GRAPH)

    page.get_by_role("link", name="blocked Deployment checkout").click()
    expect(page.locator(".graph-panel")).to_contain_text("svc/checkout")
    page.get_by_role("link", name="Table", exact=True).click()
    expect(page.locator(".references tbody tr")).not_to_have_count(0)


PHONE = {"width": 390, "height": 844}
# Points of a pinch, as a touch screen reports them.
PINCH = """canvas => {
  const box = canvas.getBoundingClientRect();
  const send = (type, gap) => canvas.dispatchEvent(new TouchEvent(type, {
    bubbles: true, cancelable: true,
    touches: [-gap, gap].map((by, identifier) => new Touch({
      identifier, target: canvas, clientX: box.left + 150 + by, clientY: box.top + 150,
    })),
  }));
  send("touchstart", 40); send("touchmove", 80);
}"""
SMALLEST = """() => Math.min(...[...document.querySelectorAll("svg[data-graph] text")].map(text =>
  parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))"""


@pytest.mark.long
def test_phone_shows_the_picture_in_a_box_of_its_own(sign_in):
    page = sign_in("alice", has_touch=True, is_mobile=True)
    page.set_viewport_size(PHONE)
    page.goto(GRAPH)
    canvas = page.locator(".graph-canvas")

    expect(page.get_by_role("link", name="update Service frontend")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate(SMALLEST) >= 12, "texts can be read"
    assert page.evaluate(FIND_OVERFLOWING) == []
    box = canvas.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < PHONE["height"] * 1.5, "the page below it is near"
    page.get_by_role("link", name="Table", exact=True).click()
    expect(page.locator(".references")).to_be_visible()
    expect(canvas).to_have_count(0)


@pytest.mark.long
def test_phone_zooms_by_buttons_and_two_fingers_and_finds(sign_in):
    page = sign_in("alice", has_touch=True, is_mobile=True)
    page.set_viewport_size(PHONE)
    page.goto(GRAPH)
    shown = page.locator('[data-zoom="0"]')
    expect(shown).to_have_text("125%")

    page.get_by_role("button", name="Zoom out").tap()
    expect(shown).to_have_text("100%")
    page.locator(".graph-canvas").evaluate(PINCH)
    expect(shown).to_have_text("200%")
    page.get_by_role("searchbox", name="Find an object").fill("inventory")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="update Service inventory")).to_be_focused()
    expect(page.get_by_role("link", name="update Service inventory")).to_be_in_viewport()


# Each text of a box beside the box that it belongs to, in the pixels of the picture.
FIND_OVERFLOWING = """() => [...document.querySelectorAll("svg[data-graph] :is(.node, .dock)")].flatMap(node => {
  const box = node.querySelector(".box").getBoundingClientRect();
  return [...node.querySelectorAll("text")].filter(text => {
    const at = text.getBoundingClientRect();
    return at.width && (at.right > box.right + 0.5 || at.left < box.left - 0.5);
  }).map(text => text.textContent);
})"""
# Links that are lower than 24 pixels, or where a click at the edge of these leads to something else (WCAG 2.5.8).
FIND_LOW = """() => [...document.querySelectorAll("svg[data-graph] a")].filter(link => {
  link.scrollIntoView({ block: "center", inline: "center" });
  const box = (link.querySelector(".target") ?? link.querySelector(".box")).getBoundingClientRect();
  const middle = [box.left + box.width / 2, box.top + box.height / 2];
  const leads = by => document.elementFromPoint(middle[0], middle[1] + by)?.closest("a") === link;
  return box.height < 24 || box.width < 24 || !leads(-11.5) || !leads(11.5);
}).map(link => link.textContent.trim())"""


@pytest.mark.long
@pytest.mark.parametrize("query", ["", "?fold=0"])
@pytest.mark.parametrize("width", [390, 1440])
def test_boxes_and_docks_are_large_enough_for_a_pointer(sign_in, query, width):
    page = sign_in("alice", reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(GRAPH + query)

    expect(page.locator("svg[data-graph] a.dock-link").first).to_be_attached()
    assert page.evaluate(FIND_LOW) == []


# The widths that the server counts with are never less than those of the font.
MEASURE = """([letters, font]) => {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = font;
  return letters.map(letter => pen.measureText(letter).width);
}"""


@pytest.mark.long
@pytest.mark.parametrize("query", ["", "?fold=0"])
def test_texts_stay_inside_their_boxes(sign_in, query):
    page = sign_in("alice")
    page.goto(GRAPH + query)
    page.evaluate("document.fonts.ready.then(() => true)")

    assert page.evaluate(FIND_OVERFLOWING) == []


@pytest.mark.long
def test_letters_are_never_wider_than_the_server_counts(sign_in):
    page = sign_in("alice")
    page.goto(GRAPH)
    page.evaluate("document.fonts.ready.then(() => true)")
    letters = [chr(code) for code in range(0x20, 0x7F)] + list("·→…")
    widths = page.evaluate(MEASURE, [letters, "420 100px 'Inter Variable'"])

    wider = {letter: width for letter, width in zip(letters, widths, strict=True) if width > measure(letter, 100) + 0.5}
    assert wider == {}


@pytest.mark.long
def test_picture_is_zoomed_by_buttons_keys_and_pinch(sign_in):
    page = sign_in("alice")
    page.goto(GRAPH)
    picture = page.locator("svg[data-graph]")
    whole = picture.evaluate("one => one.clientWidth")

    page.get_by_role("button", name="Zoom in").click()
    expect(page.locator('[data-zoom="0"]')).to_have_text("125%")
    assert picture.evaluate("one => one.clientWidth") == pytest.approx(whole * 1.25, abs=1)
    page.keyboard.press("-")
    page.keyboard.press("-")
    expect(page.locator('[data-zoom="0"]')).to_have_text("85%")
    page.keyboard.press("0")
    expect(page.locator('[data-zoom="0"]')).to_have_text("100%")
    picture.hover(position={"x": 300, "y": 200})
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    expect(page.locator('[data-zoom="0"]')).to_have_text("165%")


@pytest.mark.long
def test_object_is_found_while_typing(sign_in):
    page = sign_in("alice")
    page.goto(GRAPH)
    page.keyboard.press("f")
    page.keyboard.type("inventory")
    expect(page.locator("[data-node].is-found")).to_have_count(2)
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="update Service inventory")).to_be_focused()

    page.goto(f"{GRAPH}?find=loyal")
    expect(page.locator(".graph-panel h2")).to_contain_text("Promotion/loyalty")
