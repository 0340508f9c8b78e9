"""An object that the server refuses holds nothing but itself: it is left out, the others are applied, in a browser."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import find_violations
from tests.e2e.test_resolutions import apply, open_review, wait_for_plan

pytestmark = [pytest.mark.e2e, pytest.mark.long]
BROKEN = "apiVersion: v1\nkind: Service\nmetadata: {name: wrong-port}\nspec: {ports: [{port: 99999999}]}\n"
INGRESS = """apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: to-wrong-port}
spec: {defaultBackend: {service: {name: wrong-port, port: {number: 80}}}}
"""
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-the-others}\ndata: {a: '1'}\n"
FOLDER = os.environ.get("APPLYVIZ_SCREENS_OF_TESTS", "")


def look_at(page: Page, name: str) -> None:
    """The page is accessible, and no wider than a phone; on request, it is kept as a picture."""
    assert find_violations(page) == []
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 1000})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if FOLDER:
            page.screenshot(path=Path(FOLDER) / f"{name}-{width}.png", full_page=True)


def test_others_are_planned_and_applied_without_the_broken_object(sign_in):
    alice, bob = sign_in("alice", is_let_in=False), sign_in("bob")
    files = {"service.yaml": BROKEN, "ingress.yaml": INGRESS, "settings.yaml": SETTINGS}
    address = open_review(alice, "One is broken", files, manager="applyviz")

    look_at(alice, "holds-the-rest")
    alice.get_by_role("link", name="Plan the other 2…").click()
    expect(alice.get_by_role("checkbox", checked=True)).to_have_count(1)
    expect(alice.locator("main")).to_contain_text("refers to Service/wrong-port")
    look_at(alice, "plan-others")
    alice.get_by_label("Why are they left out?").fill("")
    alice.get_by_role("button", name="Create plan").click()
    expect(alice.get_by_role("alert")).to_contain_text("say why these objects are left out")
    alice.get_by_role("checkbox", name="Ingress/to-wrong-port").check()
    alice.get_by_label("Why are they left out?").fill("its port is fixed tomorrow")
    alice.get_by_role("button", name="Create plan").click()
    wait_for_plan(alice, 2)

    expect(alice.locator("#left-out")).to_contain_text("its port is fixed tomorrow")
    look_at(alice, "left-out")
    apply(bob, address)
    expect(bob.locator("main")).to_contain_text("left out")
    look_at(bob, "run-with-left-out")
