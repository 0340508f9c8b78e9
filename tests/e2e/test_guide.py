"""Each page of the guide fits a phone: nothing makes it scroll sideways."""

import pytest

pytestmark = pytest.mark.e2e
FIND_PAGES = """() => [...document.querySelectorAll("main a[href^='/guide/']")].map(one => one.getAttribute("href"))"""


@pytest.mark.long
@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.long)])
def test_no_page_of_the_guide_scrolls_sideways_on_a_phone(sign_in, step):
    page = sign_in("bob")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/guide/")
    addresses = page.evaluate(FIND_PAGES)
    wide = {}
    for address in addresses[::step]:
        page.goto(address)
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > 390:
            wide[address] = width

    assert len(addresses) > 40
    assert wide == {}
