"""A client-side apply of what server-side apply made: ownership moves back, and what is planned is what happens."""

from __future__ import annotations

import pytest

from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.objects.exchange import STRATEGIC_MERGE_PATCH, Answer, Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model import placeholders
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.planning.model.server_managed import is_same_object
from applyviz.engine.planning.model.summary import summarize
from applyviz.engine.planning.objects.progress import has_moved, is_rest
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.clientside import NO_LAST_APPLIED
from applyviz.engine.risks.ineffective import REMOVAL_WITHOUT_EFFECT
from applyviz.sandbox.api.estimates import EstimatingServer
from tests.engine.planning.cluster import Box
from tests.engine.planning.test_takeover import AFTER, BEFORE, CHANGED, CONFIG, CONFIG_PATH, PATH

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
MANAGERS = ("applyviz", "kubectl", "kubectl-client-side-apply")


def client(manager: str = "applyviz", **more: object) -> ApplyOptions:
    return ApplyOptions(mode=ApplyMode.CLIENT, field_manager=manager, **more)


def made_server_side(text: str = BEFORE, manager: str = "kubectl") -> Box:
    box = Box()
    box.apply(text, ApplyOptions(field_manager=manager))
    return box


def name_owners(live: dict) -> list[tuple[str, str]]:
    return [(entry["manager"], entry["operation"]) for entry in live["metadata"]["managedFields"]]


def refuse_dry_runs(request: Request) -> Answer | None:
    denied = {"kind": "Status", "message": 'deployments.apps "web" is forbidden: User "a" cannot patch resource'}
    return Answer(403, denied) if request.is_dry_run else None


@pytest.mark.parametrize("manager", MANAGERS)
@pytest.mark.parametrize("intercept", [lambda request: None, refuse_dry_runs])
def test_ownership_moves_back_and_fields_that_were_dropped_go(manager, intercept):
    box = made_server_side()
    box.intercept = intercept
    plan = box.plan(AFTER, client(manager), server=EstimatingServer())
    (change,) = plan.changes

    box.run(plan)

    live = box.get(PATH)
    assert [request.purpose for request in change.requests] == ["patch", "migrate"]
    assert name_owners(live) == [(manager, "Update")]
    assert "labels" not in live["metadata"]
    assert ANNOTATION in live["metadata"]["annotations"]
    assert is_same_object(live, change.versions.after)
    assert box.plan_one(AFTER, client(manager)).operation is Operation.UNCHANGED


def test_page_says_what_was_confirmed_why_a_field_goes_and_whose_ownership_moves():
    change = made_server_side().plan_one(AFTER, client())
    told = {render_path(field.path): field for field in change.fields}[".metadata.labels.tier"]

    assert (change.certainty, change.certainty_reason) == (
        Certainty.CONFIRMED,
        "the server confirmed the values; field ownership is estimated",
    )
    assert (told.operation, told.reason) == (FieldOperation.CLEARED, Reason.REMOVED_FROM_MANIFEST)
    assert summarize([change]).moves_from == ("kubectl",)


@pytest.mark.parametrize(("owner", "is_risk"), [("kubectl", False), ("ci", True)])
def test_removals_are_called_ignored_only_where_they_are(owner, is_risk):
    change = made_server_side(manager=owner).plan_one(AFTER, client())

    assert (NO_LAST_APPLIED in {risk.kind for risk in change.risks}) == is_risk
    assert (Reason.REMOVED_FROM_MANIFEST in {field.reason for field in change.fields}) != is_risk


PORTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "a:1", ports: [{name: dns, containerPort: 53, protocol: UDP}, OTHER]}]
"""


@pytest.mark.parametrize("other", ["{name: dns-tcp, containerPort: 53}", "{name: web, containerPort: 80}"])
def test_key_that_the_server_filled_in_was_never_applied(other):
    text = PORTS.replace("OTHER", other)
    change = made_server_side(text).plan_one(text, client())

    assert list(change.requests[0].body) == ["metadata"]
    assert change.versions.after["spec"] == change.versions.live["spec"]
    assert {risk.kind.slug for risk in change.risks} <= {"duplicate-merge-key"}


def test_last_applied_counts_where_it_is_there_and_ownership_moves_alone_where_values_are_the_same():
    box = made_server_side(CONFIG)
    box.apply(CONFIG, client(takes_client_side=False))
    change = box.plan_one(CONFIG, client())

    assert [request.purpose for request in change.requests] == ["migrate"]
    assert (change.operation, change.certainty, change.certainty_reason) == (
        Operation.UPDATE,
        Certainty.CONFIRMED,
        "",
    )
    box.apply(CONFIG, client())
    assert name_owners(box.get(CONFIG_PATH)) == [("applyviz", "Update")]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (client(takes_client_side=False), [("ci", "Apply"), ("applyviz", "Update")]),
        (client(), [("ci", "Apply"), ("applyviz", "Update")]),
        (client(takes_from=("ci",)), [("applyviz", "Update")]),
        (client(takes_client_side=False, takes_from=("ci",)), [("applyviz", "Update")]),
    ],
)
def test_entries_of_other_managers_move_only_where_they_are_named(options, left):
    box = made_server_side(CONFIG, "ci")

    box.apply(CHANGED, options)

    assert name_owners(box.get(CONFIG_PATH)) == left
    assert ("z" in box.get(CONFIG_PATH)["data"]) == (len(left) == 2)


def test_entry_that_nobody_can_read_stays():
    box = made_server_side(CONFIG)
    live = box.get(CONFIG_PATH)
    entry = {**live["metadata"]["managedFields"][0], "fieldsV1": None}
    odd = {**live, "metadata": {**live["metadata"], "managedFields": [entry]}}
    box.intercept = lambda request: Answer(200, odd)

    change = box.plan_one(CHANGED, client())

    assert "migrate" not in [request.purpose for request in change.requests]


def test_what_is_left_after_the_patch_is_the_move():
    box = made_server_side()
    change = box.plan_one(AFTER, client())
    assert not has_moved(change, 1, box.get(PATH))

    patched = box.handle(placeholders.fill(change.requests[0], box.get(PATH))).body
    now = box.plan_one(AFTER, client())

    assert [request.purpose for request in now.requests] == ["migrate"]
    assert is_rest(change, 1, now)
    assert not has_moved(change, 1, patched)
    moved = box.handle(placeholders.fill(change.requests[1], patched)).body
    assert has_moved(change, 1, moved)
    assert is_rest(change, 1, replace(now, operation=Operation.UNCHANGED, requests=()))


def test_patch_that_the_server_ignores_is_no_news_after_the_first_write():
    box, text = made_server_side(), AFTER + "status: {replicas: 3}\n"
    change = box.plan_one(text, client())
    box.handle(placeholders.fill(change.requests[0], box.get(PATH)))

    now = box.plan_one(text, client())

    assert [request.purpose for request in now.requests] == ["patch", "migrate"]
    assert is_rest(change, 1, now)
    assert not is_rest(change, 1, replace(now, operation=Operation.ERROR))


def test_object_that_was_made_anew_in_between_is_another_one():
    box = made_server_side()
    change = box.plan_one(AFTER, client())
    box.handle(placeholders.fill(change.requests[0], box.get(PATH)))
    now = box.plan_one(AFTER, client())
    live = {**now.versions.live, "metadata": {**now.versions.live["metadata"], "uid": "another"}}

    assert is_rest(change, 1, now)
    assert not is_rest(change, 1, replace(now, versions=replace(now.versions, live=live)))


def test_values_that_others_change_in_between_are_not_what_was_approved():
    box = made_server_side()
    change = box.plan_one(AFTER, client())
    box.handle(placeholders.fill(change.requests[0], box.get(PATH)))
    image = {"metadata": {"annotations": {ANNOTATION: "{}"}}}
    query = {"fieldManager": "c"}
    assert box.handle(Request("PATCH", PATH, query, "application/merge-patch+json", image)).is_ok

    assert not is_rest(change, 1, box.plan_one(AFTER, client()))


def test_field_that_stays_names_no_owner_that_is_gone():
    text = BEFORE.replace("spec:\n", "spec:\n  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2}}\n", 1)
    box = made_server_side(text, "applyviz")

    change = box.plan_one(BEFORE, client())

    (kept,) = [reason for reason in change.fields if render_path(reason.path) == ".spec.strategy.type"]
    assert [(owner.manager, owner.operation) for owner in kept.owners_after] == [("applyviz", "Update")]
    assert (kept.operation, kept.reason, kept.detail) == (FieldOperation.KEPT, Reason.LIVE_ONLY, "")


def test_entry_of_a_secret_that_stays_after_the_move_is_named():
    """The server keeps no `stringData`, so nothing of it is in the last-applied annotation that the move writes."""
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {%s}\n"
    box = made_server_side(secret % "a: one, b: two", "applyviz")

    change = box.plan_one(secret % "a: uno", client())

    assert [risk.facts["entry"] for risk in change.risks if risk.kind is REMOVAL_WITHOUT_EFFECT] == ["b"]
    box.apply(secret % "a: uno", client())
    assert sorted(box.get("/api/v1/namespaces/default/secrets/s")["data"]) == ["a", "b"]
    assert box.plan_one(secret % "a: uno", client()).operation is Operation.UNCHANGED


def set_by_others(box: Box, container: dict) -> None:
    """Another field manager adds to the container `web`."""
    body = {"spec": {"template": {"spec": {"containers": [{"name": "web", **container}]}}}}
    assert box.handle(Request("PATCH", PATH, {"fieldManager": "kubectl-set"}, STRATEGIC_MERGE_PATCH, body)).is_ok


OF_OTHERS = {
    "entry": {"env": [{"name": "B", "value": "b"}]},
    "section": {"resources": {"requests": {"cpu": "50m"}}},
    "list": {"volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]},
}
WITH_OTHERS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes: [{name: tmp, emptyDir: {}}]
      containers:
      - {name: web, image: "a:1", env: [{name: A, value: a}], resources: {limits: {cpu: "1"}}}
"""


@pytest.mark.parametrize("what", OF_OTHERS)
def test_entries_and_sections_that_others_added_to_an_applied_entry_stay(what):
    box = made_server_side(WITH_OTHERS)
    set_by_others(box, OF_OTHERS[what])
    before = box.get(PATH)["spec"]
    change = box.plan_one(WITH_OTHERS.replace("a:1", "a:2"), client())

    assert change.error == ""
    assert [f for f in change.fields if f.operation is FieldOperation.CLEARED] == []
    box.apply(WITH_OTHERS.replace("a:1", "a:2"), client())
    (container,) = box.get(PATH)["spec"]["template"]["spec"]["containers"]
    assert container == {**before["template"]["spec"]["containers"][0], "image": "a:2"}
