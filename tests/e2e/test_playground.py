"""From a rule of the guide to a question of one's own, and a link that somebody else can open."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import open_page
from tests.web.payloads import PAYLOADS

pytestmark = pytest.mark.e2e


def is_wrong(said) -> bool:
    """Whether the browser complains; that a form was refused (422) it logs as an error, too."""
    return said.type == "error" and "status of 422" not in said.text


@pytest.fixture
def visitor(product, browser):
    """Somebody who is not signed in; errors of the pages fail the test."""
    server_errors = []
    context = browser.new_context(base_url=product.url, viewport={"width": 1440, "height": 1000})
    page = open_page(context)
    page.on("console", lambda said: server_errors.append(said.text) if is_wrong(said) else None)
    page.on("pageerror", lambda error: server_errors.append(str(error)))
    yield page
    context.close()
    assert server_errors == []


@pytest.mark.long
def test_rule_leads_to_a_question_and_a_link(visitor, browser):
    visitor.goto("/guide/")
    visitor.get_by_role("link", name="When does the server reject").click()
    visitor.get_by_role("link", name="Open in the playground Rejected").click()
    expect(visitor.get_by_text('conflict with "platform"').first).to_be_visible()
    expect(visitor.locator(".resolution-options").first).to_be_visible()

    visitor.get_by_label("Force conflicts").check()
    visitor.get_by_role("button", name="Explain").click()
    expect(visitor.locator("#pane")).to_contain_text("Update")
    expect(visitor.locator(".resolution-options")).to_have_count(0)

    visitor.get_by_role("link", name="Requests 1").click()
    expect(visitor.locator("#pane")).to_contain_text("application/apply-patch+yaml")
    visitor.get_by_role("link", name="Fields 1").click()
    visitor.locator("[data-field-row] > summary").first.click()
    expect(visitor.locator(".schema").first).to_contain_text("string")

    other = browser.new_page()
    other.goto(visitor.get_by_label("Link to this result").input_value())
    expect(other.locator("#pane")).to_contain_text("light")
    other.close()


@pytest.mark.long
def test_fields_follow_the_way_of_applying(visitor):
    visitor.goto("/playground/")

    expect(visitor.get_by_label("Last applied")).to_be_hidden()
    visitor.get_by_role("radio", name="Client-side").check()
    expect(visitor.get_by_label("Last applied")).to_be_visible()
    expect(visitor.get_by_label("Force conflicts")).to_be_hidden()


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1440])
def test_set_is_opened_from_the_guide_and_asked_again_with_the_keyboard(visitor, width):
    visitor.set_viewport_size({"width": width, "height": 1000})
    visitor.goto("/guide/prune/")
    visitor.get_by_role("link", name="Open in the playground").first.click()
    expect(visitor.get_by_role("row", name="dropped")).to_contain_text("Prune")
    expect(visitor.get_by_label("ApplySet parent")).to_be_hidden()

    visitor.get_by_role("radio", name="Prune by allowlist").focus()
    visitor.keyboard.press("ArrowUp")
    expect(visitor.get_by_label("Dependents")).to_be_visible()
    expect(visitor.get_by_label("Label selector")).to_be_hidden()
    visitor.get_by_role("button", name="Explain").focus()
    visitor.keyboard.press("Enter")

    expect(visitor.locator("#answer")).to_contain_text("kubectl delete -f manifests.yaml")
    expect(visitor.get_by_role("row", name="ConfigMap/kept")).to_contain_text("Delete")
    assert visitor.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.long
@pytest.mark.parametrize("width", [390, 1440])
def test_channel_is_opened_from_the_guide_and_asked_again_with_the_keyboard(visitor, width):
    visitor.set_viewport_size({"width": width, "height": 1000})
    visitor.goto("/guide/channels/")
    visitor.get_by_role("link", name="Open in the playground").first.click()
    expect(visitor.get_by_role("row", name="old")).to_contain_text("For Kubernetes <1.30.0")
    expect(visitor.get_by_role("row", name="web")).to_contain_text("Update")

    visitor.get_by_label("Kubernetes version").fill("v1.29.9")
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_role("row", name="old")).to_contain_text("Install")
    expect(visitor.locator("#answer")).to_contain_text('channels apply channel "file://$PWD/channel.yaml" --yes')

    visitor.get_by_label("Kubernetes version").fill("new")
    with visitor.expect_response("**/playground/channels/") as answer:
        visitor.keyboard.press("Enter")
    assert answer.value.status == 422
    expect(visitor.get_by_text("new is not a version")).to_be_visible()
    expect(visitor.get_by_label("Channel")).to_have_value(re.compile("kind: Addons"))
    assert visitor.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.long
def test_problem_names_its_line(visitor):
    visitor.goto("/playground/")
    visitor.get_by_label("Manifest").fill("kind: ConfigMap\n x: y")
    with visitor.expect_response("**/playground/") as answer:
        visitor.get_by_role("button", name="Explain").click()

    assert answer.value.status == 422
    expect(visitor.get_by_text("line 2, column 3: YAML syntax")).to_be_visible()


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.long)])
def test_hostile_manifest_runs_nothing(visitor, step):
    # A manifest with a NUL is refused as a whole.
    shown = [payload for payload in PAYLOADS[::step] if "\0" not in payload]
    data = {f"{n}": payload for n, payload in enumerate(shown)}
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "annotations": {payload: payload for payload in shown[::7]}},
        "data": data,
    }
    live = {**manifest, "data": {key: f"{value}!" for key, value in data.items()}}
    visitor.goto("/playground/")
    visitor.get_by_label("Manifest").fill(json.dumps(manifest))
    visitor.get_by_label("Live object").fill(json.dumps(live))
    visitor.get_by_role("button", name="Explain").click()
    expect(visitor.locator("#pane")).to_contain_text("window.hit")
    for tab in ("Diff", "Requests", "Field owners", "YAML", "Fields"):
        visitor.locator("#pane .tabs").get_by_role("link", name=tab).click()
        expect(visitor.locator("#pane .tabs [aria-current=page]")).to_contain_text(tab)
        expect(visitor.locator("#pane")).to_contain_text("window.hit")
    for row in visitor.locator("[data-field-row] > summary").all()[:40:5]:
        row.click()

    assert visitor.evaluate("window.hit") is None
