"""Pages say how long ago something was, and the audit log says when: absolute, in UTC."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e
SOON = re.compile(r"^(now|in \d+ \w+|\d+ \w+ ago)$")
ABSOLUTE = r"\d+ \w+ \d\d:\d\d UTC"
PERIOD = 20_000  # milliseconds between two updates of the relative times of a page


def test_moments_are_relative_with_the_moment_as_tooltip(sign_in):
    page = sign_in("alice")
    page.clock.install()
    page.goto("/")
    shown = page.locator("time[data-relative]").first
    expect(shown).to_have_text(SOON)
    expect(shown).to_have_attribute("title", re.compile(r"\d{4}.* · \d+ \w+ \d\d:\d\d UTC$"))
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert re.fullmatch(ABSOLUTE, shown.inner_text())
    page.clock.run_for(PERIOD)
    assert re.fullmatch(ABSOLUTE, shown.inner_text())
    page.evaluate("document.dispatchEvent(new Event('htmx:after:swap'))")
    assert re.fullmatch(ABSOLUTE, shown.inner_text())
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(shown).to_have_text(SOON)


@pytest.mark.long
def test_audit_log_and_change_record_keep_the_absolute_time(sign_in):
    page = sign_in("alice")
    for address in ("/history/", "/reviews/1/plans/1/record/"):
        answer = page.goto(address)
        assert answer is not None, address
        assert answer.ok, address
        moments = page.locator("main time")
        expect(moments.first).to_be_visible()
        assert [text for text in moments.all_inner_texts() if not text.endswith("UTC")] == [], address


@pytest.mark.long
def test_without_script_the_absolute_time_stands_there(sign_in):
    page = sign_in("alice", java_script_enabled=False)
    page.goto("/")
    expect(page.locator("time[data-relative]").first).to_have_text(re.compile(r"UTC$"))
