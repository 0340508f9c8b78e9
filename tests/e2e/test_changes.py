"""All changes in one scroll: keys, ticks, the list, views, conflicts, chunks, without script, on a phone."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import find_violations
from tests.e2e.conftest import forget_views, show_alone

pytestmark = pytest.mark.e2e
CHANGES = "/reviews/2/plans/1/changes/"
CURRENT = "[data-item] a[aria-current]"


@pytest.fixture
def changes(sign_in) -> Page:
    """The changes of the demo's upgrade, as an approver who decides nothing reads them."""
    page = sign_in("bob", reduced_motion="reduce")
    # Here people tick by hand; what counts by itself once it was on the screen has tests of its own.
    page.route("**/seen*.js", lambda route: route.fulfill(content_type="text/javascript", body=""))
    forget_views(page, CHANGES)
    expect(page.locator("[data-scroll-object]").first).to_be_visible()
    return page


@pytest.mark.long
def test_first_field_stands_high_on_the_page(changes):
    changes.set_viewport_size({"width": 1440, "height": 900})

    top = changes.locator(".change").first.evaluate("row => row.getBoundingClientRect().top")

    assert top <= 330


@pytest.mark.long
@pytest.mark.parametrize("width", [1024, 1440, 1920])
def test_menus_of_all_objects_stand_below_each_other(changes, width):
    changes.set_viewport_size({"width": width, "height": 900})
    changes.goto(f"{CHANGES}?expand=alike-0")

    menus = changes.locator(".object-menu summary")
    ends = menus.evaluate_all("all => all.map(one => Math.round(one.getBoundingClientRect().right))")
    assert len(ends) > 5
    assert len(set(ends)) == 1


@pytest.mark.long
@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_group_and_selection_are_marked_as_viewed_with_one_click(changes, size):
    page = changes
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.goto(f"{CHANGES}?op=create")
    if size[0] < 500:
        page.get_by_role("button", name="Objects").click()
    page.locator("[data-group=create]").get_by_role("button", name="Mark 2 as viewed").or_(
        page.locator("#object-groups").get_by_role("button", name="Mark 2 as viewed")
    ).first.click()
    expect(page.locator("#viewed")).to_contain_text("2 of 38")
    expect(page).to_have_url(f"{CHANGES}?op=create")
    page.goto(CHANGES)
    if size[0] < 500:
        page.get_by_role("button", name="Objects").click()
    page.locator("[data-group=update]").get_by_role("button", name="as viewed").click()
    expect(page.locator("#viewed")).to_contain_text("20 of 38")


@pytest.mark.long
def test_keys_move_through_objects_fields_and_ticks(changes):
    page = changes
    expect(page.locator(CURRENT)).to_contain_text("checkout")
    page.keyboard.press("j")
    expect(page.locator(CURRENT)).to_contain_text("promotions.shop.example.com")
    page.keyboard.press("x")
    expect(page.locator("#viewed")).to_contain_text("1 of 38")
    expect(page.locator(CURRENT).locator("[data-tick]")).to_contain_text("✓")
    expect(page.locator("#object-1, [data-scroll-object] .object-folded").first).to_be_visible()
    page.keyboard.press("x")
    expect(page.locator("#viewed")).to_contain_text("0 of 38")
    page.keyboard.press("k")
    expect(page.locator(CURRENT)).to_contain_text("checkout")
    page.keyboard.press("n")
    expect(page.locator(".change > details > summary").first).to_be_focused()
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator(".change > details > summary").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".change").nth(1).locator(".opened-field")).to_be_visible()
    expect(page.locator(".change").nth(1).locator(".schema")).to_contain_text("Earlier runs")
    page.keyboard.press("Escape")
    expect(page.locator(".change").nth(1).locator(".opened-field")).to_be_hidden()
    page.keyboard.press("f")
    page.keyboard.type("wishlist")
    expect(page.locator("[data-item]")).to_have_count(4)  # two by name, two by a value
    expect(page.locator("[data-scroll-object]")).to_have_count(4)
    page.keyboard.press("Escape")
    expect(page.locator("[data-item]")).not_to_have_count(4)
    page.keyboard.press("?")
    expect(page.locator("[data-keys-help]")).to_contain_text("mark the object as viewed")


@pytest.mark.long
def test_scroll_goes_on_by_itself_and_the_list_follows(changes):
    page = changes
    shown = page.locator("[data-scroll-object]")
    expect(shown).to_have_count(20)
    page.locator("[data-next]").scroll_into_view_if_needed()
    expect(page.locator("[data-next]")).to_have_count(0)
    assert shown.count() > 20
    shown.last.scroll_into_view_if_needed()
    expect(page.locator(CURRENT)).not_to_contain_text("promotions")


@pytest.mark.long
def test_link_of_the_list_fetches_what_is_not_in_the_page(changes):
    page = changes
    link = page.locator("[data-item] a").filter(has_text="PDB").first
    link.click()

    expect(page).to_have_url(re.compile(r"at=\d+#object-\d+"))
    position = re.search(r"object-(\d+)", page.url)[1]
    expect(page.locator(f"#object-{position}")).to_be_in_viewport()
    page.reload()
    expect(page.locator(f"#object-{position}")).to_be_in_viewport()


@pytest.mark.long
def test_identical_changes_are_one_block_and_open_one_by_one(changes):
    page = changes
    block = page.locator("[data-scroll-object].is-alike")
    expect(block).to_contain_text("10 Services with the same change")
    expect(block.locator(".members")).to_contain_text("notifications")
    block.get_by_role("link", name="Show as 10 objects").click()
    expect(page.locator("[data-scroll-object].is-alike")).to_have_count(0)
    expect(page.locator("[data-scroll-object] h3", has_text="Service/cart")).to_be_visible()


@pytest.mark.long
def test_object_shows_its_fields_its_diff_and_its_yaml(changes):
    page = changes
    first = page.locator("[data-scroll-object]").first
    for view, found in (("Diff", "table.diff"), ("YAML", ".yaml"), ("Fields", ".change")):
        first.locator(".object-menu > summary").click()
        first.get_by_role("link", name=view, exact=True).click()
        expect(first.locator(found).first).to_be_visible()
    page.locator("#tab-tools").get_by_role("link", name="All fields").click()
    expect(page).to_have_url(re.compile("show=all"))
    expect(page.locator("[data-scroll-object]").first.locator(".change").nth(20)).to_be_attached()


def test_conflict_is_resolved_in_its_row(sign_in):
    alice = sign_in("alice", reduced_motion="reduce")
    alice.goto(CHANGES)
    row = alice.locator(".change.is-conflict").first
    expect(row.locator("[data-option]")).to_have_count(3)
    expect(row.locator("[data-option]:checked")).to_have_count(0)
    alice.keyboard.press("c")
    alice.keyboard.press("2")
    expect(row.locator("[data-option='2']")).to_be_checked()
    row.get_by_role("button", name="Preview request").click()
    expect(alice.locator(".preview")).to_contain_text("Give up the field")


@pytest.mark.long
def test_deck_leads_to_the_conflict_below_the_sticky_heads(sign_in):
    alice = sign_in("alice", reduced_motion="reduce")
    alice.goto("/reviews/2/plans/1/overview/")
    alice.locator("[data-next-act]", has_text="Resolve 1 conflict").click()

    expect(alice).to_have_url(re.compile(r"/changes/\?at=\d+#conflict-\d+-\d+$"))
    row = alice.locator(".change.is-conflict").first
    expect(row.locator("[data-option]").first).to_be_in_viewport(ratio=1)
    head = alice.locator(".object-head").first.evaluate("head => head.getBoundingClientRect().bottom")
    assert row.locator("summary").first.evaluate("row => row.getBoundingClientRect().top") >= head - 1


@pytest.mark.long
def test_risk_tag_opens_the_drawer_at_that_risk(changes):
    tag = changes.locator(".object-head .risk-tag", has_text="Blocked by conflict").first
    tag.click()

    expect(changes.locator("[data-drawer]")).to_be_visible()
    expect(changes.locator("#risk-conflict")).to_be_focused()


WIDTHS = pytest.mark.parametrize("width", [1440, 390])


@pytest.mark.long
@WIDTHS
def test_field_that_left_the_file_and_stays_is_a_row_and_says_who_keeps_it(changes, width):
    page = changes
    page.set_viewport_size({"width": width, "height": 900})
    row = page.locator(".change.tone-keep", has_text="replicas").first
    row.scroll_into_view_if_needed()

    expect(row).to_contain_text("no longer in the manifest, but kept: kube-controller-manager (scale) owns it")
    expect(row.locator(".path").first).to_be_visible()


@pytest.mark.long
@WIDTHS
def test_owner_history_of_a_conflict_is_not_clipped(changes, width):
    page = changes
    page.set_viewport_size({"width": width, "height": 900})
    past = page.locator(".is-conflict .past").first
    past.scroll_into_view_if_needed()
    expect(past.locator(".schema")).to_contain_text("Earlier runs")

    sizes = past.evaluate("one => [one.scrollHeight - one.clientHeight, getComputedStyle(one).overflowY]")
    assert sizes == [0, "visible"]
    assert past.locator("dd", has_text="run 1").is_visible()


@pytest.mark.long
@WIDTHS
def test_images_come_first_and_a_group_says_what_is_identical(changes, width):
    page = changes
    page.set_viewport_size({"width": width, "height": 900})
    cart = page.locator("[data-scroll-object]", has=page.locator("h3", has_text="Deployment/cart"))
    expect(cart.locator(".change .path").first).to_contain_text("image")
    block = page.locator("[data-scroll-object].is-alike h3")
    expect(block).to_contain_text("app.kubernetes.io/version: 1.4.2 → 1.5.0")
    levels = page.locator("[data-group='update'] [data-item]").evaluate_all(
        "all => all.map(one => one.querySelector('.level').classList.contains('is-none'))"
    )
    assert levels == sorted(levels), "objects at risk come first"


@pytest.mark.long
@WIDTHS
@pytest.mark.parametrize(
    ("risk", "says"),
    [
        ("rbac", "Gains watch on promotions; patch on promotions/status."),
        ("crd", "New optional field spec.banner.link: objects that exist stay valid."),
    ],
)
def test_risk_says_what_follows_from_it(changes, width, risk, says):
    page = changes
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/reviews/2/plans/1/risks/")

    expect(page.locator(f"#risk-{risk}")).to_contain_text(says)


@pytest.mark.long
@pytest.mark.parametrize("query", ["", "?show=all", "?view=diff", "?view=yaml"])
def test_scroll_has_no_finding(sign_in, query):
    page = sign_in("alice", reduced_motion="reduce")
    page.goto(CHANGES + query)
    for row in page.locator(".change > details > summary").all()[:2]:
        row.click()

    assert find_violations(page) == []


@pytest.mark.long
def test_phone_is_one_column_with_targets_for_thumbs(sign_in):
    page = sign_in("bob", reduced_motion="reduce")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(CHANGES)

    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Objects").click()
    heights = page.locator("[data-item]:visible a").evaluate_all("all => all.map(a => a.offsetHeight)")
    assert min(heights) >= 44
    page.keyboard.press("Escape")
    assert min(page.locator(".change > details > summary").evaluate_all("all => all.map(a => a.offsetHeight)")) >= 44


@pytest.mark.long
def test_everything_is_there_without_script(sign_in):
    page = sign_in("bob", java_script_enabled=False)
    page.goto(CHANGES)
    expect(page.locator("[data-scroll-object]")).to_have_count(20)
    closed = page.locator(".change:not(.is-conflict)").first  # a conflict is open from the start
    closed.locator("> details > summary").click()
    expect(closed.locator(".opened-field")).to_be_visible()
    page.get_by_role("link", name="Schema and owner history").first.click()
    expect(page.locator("main")).to_contain_text("Earlier runs")
    page.go_back()
    page.get_by_role("link", name=re.compile("Next .* objects?")).click()
    expect(page.get_by_role("link", name="Previous objects")).to_be_visible()
    page.goto(CHANGES)
    viewed, box = page.locator("#viewed"), page.locator("[data-scroll-object]").nth(1).locator(".viewed-box")
    count, was_viewed = int(viewed.locator("b").inner_text()), box.get_by_label("Viewed").is_checked()
    for is_viewed, shown in ((not was_viewed, count - 1 if was_viewed else count + 1), (was_viewed, count)):
        box.get_by_label("Viewed").set_checked(is_viewed)
        box.get_by_role("button", name="Save").click()
        expect(viewed).to_contain_text(f"Viewed {shown} of 38")
    show_alone(page)
