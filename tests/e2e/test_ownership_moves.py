"""Field ownership moves by choice, in a browser: replicas handed over, live fields taken, managers chosen by tick."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import open_tab
from tests.e2e.test_main_job import drop_files
from tests.e2e.test_plan_others import look_at
from tests.e2e.test_resolutions import apply, open_object, open_review, wait_for_plan

pytestmark = [pytest.mark.e2e, pytest.mark.long]
WEB = """apiVersion: apps/v1
kind: Deployment
metadata: {name: handed-over}
spec:
  replicas: 2
  selector: {matchLabels: {app: handed-over}}
  template:
    metadata: {labels: {app: handed-over}}
    spec: {containers: [{name: web, image: "nginx:1", resources: {requests: {cpu: 1m, memory: 1Mi}}}]}
"""
SCALER = """apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scales-it}
spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: handed-over}}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: taken-from\ndata:\n  level: info # of what is logged\n"
# Without `level`: two managers of one field would conflict, and this walk is about the others.
MORE = MAP.replace("level: info # of what is logged", "colour: red")


def test_replicas_are_handed_over_from_the_risk(sign_in):
    alice, bob = sign_in("alice"), sign_in("bob")
    files = {"web.yaml": WEB, "scaler.yaml": SCALER}
    apply(bob, open_review(alice, "Both", files, manager="applyviz"))
    changed = {**files, "web.yaml": WEB.replace("nginx:1", "nginx:2")}
    address = open_review(alice, "Image", changed, manager="applyviz")
    open_object(alice, address, "handed-over")

    alice.get_by_role("link", name="Hand over replicas…").click()
    expect(alice.get_by_role("checkbox", name=".spec.replicas")).to_be_checked()
    expect(alice.get_by_label("Next field manager")).to_have_value("handover-to-hpa")
    look_at(alice, "hand-over")
    alice.get_by_role("button", name="Create plan").click()
    wait_for_plan(alice, 2)

    open_tab(alice, "Overview")
    expect(alice.locator("main")).to_contain_text(
        "Handed over to handover-to-hpa: Deployment/handed-over .spec.replicas"
    )
    apply(bob, address)
    look_at(bob, "run-with-hand-over")


def test_live_fields_are_taken_and_managers_move_by_tick(sign_in):
    alice, bob = sign_in("alice"), sign_in("bob")
    apply(bob, open_review(alice, "Theirs", {"map.yaml": MORE}, manager="settings-operator"))
    apply(bob, open_review(alice, "Ours", {"map.yaml": MAP}, manager="shop-team"))
    address = open_review(alice, "Take", {"map.yaml": MAP.replace("info", "debug")}, manager="shop-team")
    open_object(alice, address, "taken-from")

    alice.get_by_role("link", name="Take live fields…").click()
    expect(alice.locator("main")).to_contain_text("settings-operator")
    alice.get_by_role("checkbox", name=re.compile("colour")).check()
    look_at(alice, "take-fields")
    alice.get_by_role("button", name="Create plan").click()
    wait_for_plan(alice, 2)
    open_object(alice, address, "taken-from")
    expect(alice.locator("#pane")).to_contain_text("colour: red")
    look_at(alice, "taken-field")

    open_tab(alice, "Owners")
    alice.get_by_role("link", name="Move field ownership…").click()
    expect(alice.locator("main")).to_contain_text("Unchanged")
    look_at(alice, "move-ownership")
    alice.get_by_role("button", name="Create plan").click()
    wait_for_plan(alice, 3)
    apply(bob, address)


def test_short_name_of_an_owner_stays_whole_beside_a_long_one(sign_in):
    alice, bob = sign_in("alice"), sign_in("bob")
    text = MAP.replace("taken-from", "renamed")
    alice.goto("/reviews/new/")
    drop_files(alice, {"map.yaml": text})
    alice.get_by_label("Title").fill("Client-side")
    alice.get_by_label("Namespace").fill("shop")
    alice.get_by_role("radio", name=re.compile("^Client-side")).check()
    alice.get_by_label("Field manager", exact=True).fill("kubectl-client-side-apply")
    alice.get_by_role("button", name="Create plan").click()
    wait_for_plan(alice, 1)
    apply(bob, alice.url)

    open_review(alice, "Server-side", {"map.yaml": text.replace("info", "debug")}, manager="applyviz")
    open_tab(alice, "Changes")

    names = alice.locator("[data-field-row]", has_text="level").first.locator("summary .owner .name")
    expect(names).to_have_text(["kubectl-client-side-apply", "applyviz"])
    boxes = names.evaluate_all("all => all.map(one => [one.clientWidth, one.scrollWidth])")
    (long_shown, long_whole), (short_shown, short_whole) = boxes
    assert long_shown < long_whole
    assert short_shown == short_whole
    before = names.first.locator("..")
    expect(before).to_have_attribute("title", "kubectl-client-side-apply: kubectl apply, client-side")
    ends = [box["x"] + box["width"] for box in (names.nth(n).bounding_box() for n in (0, 1))]
    assert ends[0] < names.nth(1).bounding_box()["x"]
    assert ends[1] <= alice.viewport_size["width"]
