"""Presets in a browser: an administrator saves one, an author chooses it and adds a file, and the review says so."""

from __future__ import annotations

import os
import re
import secrets

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_main_job import drop_files

pytestmark = [pytest.mark.e2e, pytest.mark.long]
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: preset-walk}\ndata: {a: b}\n"


def shoot(page: Page, name: str) -> None:
    """Keep a picture of the page where somebody asks for them."""
    if folder := os.environ.get("APPLYVIZ_SHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def test_author_chooses_a_preset_and_adds_a_file(sign_in):
    dana, alice = sign_in("dana"), sign_in("alice")
    slug = f"walk-{secrets.token_hex(3)}"
    dana.goto("/settings/presets/")
    shoot(dana, "presets")
    dana.get_by_role("link", name="New preset").click()
    dana.get_by_label("Name", exact=True).fill(f"Walk {slug}")
    dana.get_by_label("Slug").fill(slug)
    dana.get_by_label("Cluster").select_option("demo")
    dana.get_by_label("Namespace").fill("shop")
    dana.get_by_label("Field manager", exact=True).fill("walk")
    shoot(dana, "add-preset")
    dana.get_by_role("button", name="Save preset").click()
    expect(dana.locator(".messages")).to_contain_text("Preset saved.")
    shoot(dana, "preset")

    alice.goto("/reviews/new/")
    shoot(alice, "new-review")
    alice.get_by_role("combobox", name="Preset").select_option(slug)
    expect(alice.get_by_text("Title and options")).to_be_visible()
    expect(alice.get_by_label("Namespace")).to_be_hidden()
    shoot(alice, "new-review-with-preset")
    drop_files(alice, {"walk.yaml": MANIFEST})
    alice.get_by_text("Title and options").click()
    alice.get_by_label("Field manager", exact=True).fill("mine")
    shoot(alice, "new-review-opened")
    alice.get_by_role("button", name="Create plan").click()
    alice.wait_for_url(re.compile(r"/reviews/\d+/"))
    expect(alice.locator("[data-stream]")).to_have_count(0)
    expect(alice.get_by_role("region", name="About this plan")).to_contain_text(
        f"Walk {slug}, version 1; changed: Field manager"
    )
    shoot(alice, "overview")
    alice.get_by_role("link", name="Print").click()
    shoot(alice, "record")
    expect(alice.locator("dl.facts").first).to_contain_text("walk → mine")

    dana.get_by_text("Archive preset…").click()
    dana.get_by_role("button", name="Archive preset", exact=True).click()
    expect(dana.locator(".messages")).to_contain_text("Preset archived.")
