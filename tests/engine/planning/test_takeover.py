"""A server-side apply of what client-side apply made: ownership moves first, and what is planned is what happens."""

from __future__ import annotations

import json

import pytest
import yaml

from applyviz.engine.explain.fields import CHANGING
from applyviz.engine.explain.reasons import FieldOperation, Reason
from applyviz.engine.objects.exchange import JSON, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Answer, Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.structs import replace
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.conflicts.resolutions import ResolutionChoice, ResolutionKind
from applyviz.engine.planning.model import placeholders
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.planning.model.server_managed import is_same_object
from applyviz.engine.planning.model.summary import summarize
from applyviz.engine.planning.objects.progress import has_moved, is_rest, moved_live
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.model import RiskLevel
from applyviz.engine.risks.planning.ownership import OWNERSHIP_MOVED
from applyviz.engine.risks.sentences import describe_risk
from applyviz.sandbox.api.estimates import EstimatingServer
from tests.engine.planning.cluster import Box

CLIENT = ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply")
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
PATH = "/apis/apps/v1/namespaces/default/deployments/web"
IMAGE = '.spec.template.spec.containers[name="web"].image'
RECORD = f".metadata.annotations.{ANNOTATION}"
CONFIG_PATH = "/api/v1/namespaces/default/configmaps/a"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1', z: '2'}\n"
CHANGED = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '9'}\n"
BEFORE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: a}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1", ports: [{containerPort: 80}]}]}
"""
AFTER = BEFORE.replace("nginx:1", "nginx:2").replace(", labels: {tier: a}", "")
RECREATE = AFTER.replace("spec:\n  selector", "spec:\n  strategy: {type: Recreate}\n  selector")
MANAGERS = ("applyviz", "kubectl")
PURPOSES = {"applyviz": ["migrate", "apply"], "kubectl": ["migrate", "apply", "record"]}
# The owners after a takeover: the record of kubectl has a manager of its own.
KEEPERS = {"applyviz": {"applyviz"}, "kubectl": {"kubectl", "kubectl-last-applied"}}
ESTIMATED = {"can_dry_run": False, "server": EstimatingServer()}


def options(manager: str = "applyviz", **more: object) -> ApplyOptions:
    return ApplyOptions(field_manager=manager, **more)


def made_client_side(text: str = BEFORE) -> Box:
    box = Box()
    box.apply(text, CLIENT)
    return box


def refuse_updates(request: Request) -> Answer | None:
    denied = {"kind": "Status", "message": 'deployments.apps "web" is forbidden: User "a" cannot update resource'}
    return Answer(403, denied) if request.method == "PUT" else None


def read_record(live: dict) -> dict | None:
    """Return last-applied of an object; None without one."""
    text = live["metadata"].get("annotations", {}).get(ANNOTATION)
    found = None if text is None else json.loads(text)
    if found is not None:
        assert found["metadata"].pop("namespace") == "default"
    return found


def list_moves(change) -> set[str]:
    return {
        render_path(f.path) for f in change.fields if f.operation in CHANGING and f.reason is not Reason.BOOKKEEPING
    }


@pytest.mark.parametrize("manager", MANAGERS)
@pytest.mark.parametrize("text", [AFTER, RECREATE])
def test_plan_says_what_then_is_and_the_next_plan_says_nothing(manager, text):
    box = made_client_side()
    plan = box.plan(text, options(manager))
    (change,) = plan.changes

    box.run(plan)

    live = box.get(PATH)
    assert [r.purpose for r in change.requests] == PURPOSES[manager]
    assert (change.conflicts, change.certainty) == ((), Certainty.CONFIRMED)
    assert change.certainty_reason == "the server confirmed the values; field ownership is estimated"
    assert is_same_object(live, change.versions.after)
    assert {e["manager"] for e in live["metadata"]["managedFields"]} == KEEPERS[manager]
    assert read_record(live) == (yaml.safe_load(text) if manager == "kubectl" else None)
    assert box.plan_one(text, options(manager)).operation is Operation.UNCHANGED


def test_only_what_the_manifest_changes_is_stated():
    change = made_client_side().plan_one(AFTER, options())

    assert list_moves(change) == {".metadata.labels.tier", IMAGE, RECORD}


def test_last_applied_is_said_to_go_with_the_ownership_of_client_side_apply():
    box = made_client_side(CONFIG)
    change = box.plan_one(CONFIG, options())
    told = {render_path(field.path): (field.operation, field.reason) for field in change.fields}

    assert told[RECORD] == (FieldOperation.CLEARED, Reason.LAST_APPLIED_REMOVED)
    assert summarize([change]).records_removed == 1


def test_last_applied_stays_where_ownership_is_not_taken_over():
    change = made_client_side(CONFIG).plan_one(CONFIG, options(takes_client_side=False))

    assert summarize([change]).records_removed == 0


def test_last_applied_in_a_manifest_is_a_field_like_any_other():
    text = CONFIG.replace("{name: a}", "{name: a, annotations: {" + ANNOTATION + ": '{}'}}")
    box = Box()
    box.apply(CONFIG, options("ci"))
    change = box.plan_one(text, options("ci"))
    blocked = made_client_side(CONFIG).plan_one(text, options(takes_client_side=False))

    assert list_moves(change) == {RECORD}
    assert [render_path(f.path) for f in blocked.fields if f.reason is Reason.CONFLICTS] == [RECORD]


def test_manifest_that_clears_the_owners_says_so():
    box = made_client_side(CONFIG)
    change = box.plan_one(CONFIG.replace("{name: a}", "{name: a, managedFields: [{}]}"), CLIENT)

    assert list_moves(change) == {".metadata.managedFields"}
    (risk,) = (risk for risk in change.risks if risk.kind is OWNERSHIP_MOVED)
    assert risk.level is RiskLevel.HIGH
    assert describe_risk(risk).startswith("Field ownership of kubectl-client-side-apply is lost permanently.")


@pytest.mark.parametrize("manager", MANAGERS)
@pytest.mark.parametrize("context", [{"server": EstimatingServer()}, ESTIMATED], ids=["confirmed", "estimated"])
def test_takeover_that_a_conflict_blocks_states_no_removal_of_a_default(manager, context):
    box = made_client_side()
    image = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "nginx:9"}]}}}}
    by_hand = Request("PATCH", PATH, {"fieldManager": "kubectl-set"}, STRATEGIC_MERGE_PATCH, image)
    assert box.handle(by_hand).is_ok

    change = box.plan_one(BEFORE, options(manager), **context)

    assert change.operation is Operation.BLOCKED
    assert [render_path(f.path) for f in change.fields if f.operation is FieldOperation.CONFLICT] == [IMAGE]
    assert list_moves(change) == (set() if manager == "kubectl" else {RECORD})


def test_fields_say_that_their_ownership_moves():
    told = {render_path(f.path): f for f in made_client_side().plan_one(AFTER, options()).fields}

    name, default = told['.spec.template.spec.containers[name="web"].name'], told[".spec.revisionHistoryLimit"]
    assert (name.operation, name.reason, name.detail) == (
        FieldOperation.UNCHANGED,
        Reason.OWNERSHIP_MOVES,
        "kubectl-client-side-apply",
    )
    assert [owner.manager for owner in name.owners_after] == ["applyviz"]
    assert (default.operation, default.reason, default.owners_after) == (
        FieldOperation.UNCHANGED,
        Reason.SERVER_DEFAULT,
        (),
    )
    assert told[".metadata.labels.tier"].reason is Reason.REMOVED_FROM_MANIFEST


def test_values_are_asked_for_by_one_update_that_is_a_dry_run():
    box = made_client_side()
    live = box.get(PATH)["metadata"]
    box.asked.clear()

    box.plan_one(AFTER, options())

    read, tried = box.asked
    assert (read.method, tried.method, tried.content_type, tried.is_dry_run) == ("GET", "PUT", JSON, True)
    metadata = tried.body["metadata"]
    assert (metadata["uid"], metadata["resourceVersion"]) == (live["uid"], live["resourceVersion"])
    assert "managedFields" not in metadata
    assert "force" not in tried.query


def test_values_and_ownership_are_estimated_without_the_right_to_update():
    box = made_client_side()
    box.intercept = refuse_updates
    plan = box.plan(AFTER, options(), server=EstimatingServer())
    (change,) = plan.changes

    box.run(plan)

    assert change.certainty is Certainty.ESTIMATED
    assert "cannot update resource" in change.certainty_reason
    assert list_moves(change) == {".metadata.labels.tier", IMAGE, RECORD}
    assert is_same_object(box.get(PATH), change.versions.after)


def test_kind_that_takes_no_updates_is_estimated():
    box = made_client_side()
    box.intercept = lambda r: Answer(405, {"message": "not supported"}) if r.method == "PUT" else None

    change = box.plan_one(AFTER, options(), server=EstimatingServer())

    assert (change.operation, change.certainty) == (Operation.UPDATE, Certainty.ESTIMATED)


def test_update_that_is_refused_is_the_refusal_of_the_object():
    box = made_client_side()
    answer = Answer(422, {"kind": "Status", "reason": "Invalid", "message": "field is immutable"})
    box.intercept = lambda r: answer if r.method == "PUT" else None

    change = box.plan_one(AFTER, options())

    assert (change.operation, change.error) == (Operation.ERROR, "field is immutable")


def test_switched_off_the_manager_of_client_side_apply_conflicts():
    change = made_client_side().plan_one(AFTER, options(takes_client_side=False))

    assert change.operation is Operation.BLOCKED
    assert {c.manager for c in change.conflicts} == {"kubectl-client-side-apply"}


def set_by_hand(box: Box, body: dict, manager: str = "kubectl-edit") -> None:
    assert box.sandbox.handle(Request("PATCH", CONFIG_PATH, {"fieldManager": manager}, MERGE_PATCH, body)).is_ok


def test_others_conflict_as_before_and_are_resolved_on_top_of_the_move():
    box = made_client_side(CONFIG)
    set_by_hand(box, {"data": {"x": "5"}})

    refused = box.plan_one(CHANGED, options())

    assert (refused.operation, refused.certainty) == (Operation.BLOCKED, Certainty.ESTIMATED)
    assert [c.manager for c in refused.conflicts] == ["kubectl-edit"]
    (field,) = refused.open_fields
    decisions = {refused.ref.key: (ResolutionChoice(field.path, "kubectl-edit", ResolutionKind.OVERWRITE),)}
    plan = box.plan(CHANGED, options(), decisions=decisions)
    box.run(plan)
    assert [r.purpose for r in plan.changes[0].requests] == ["migrate", "apply"]
    assert is_same_object(box.get(CONFIG_PATH), plan.changes[0].versions.after)
    assert box.get(CONFIG_PATH)["data"] == {"x": "9"}


def test_managers_that_were_chosen_move_too():
    box = made_client_side(CONFIG)
    set_by_hand(box, {"data": {"x": "5", "more": "1"}})

    change = box.plan_one(CHANGED, options(takes_from=("kubectl-edit",)))

    assert change.operation is Operation.UPDATE
    assert change.versions.after["data"] == {"x": "9", "more": "1"}  # kubectl-edit keeps what was never applied


def test_what_was_there_before_tracking_moves_as_far_as_it_was_applied():
    box = made_client_side(CONFIG)
    set_by_hand(box, {"data": {"by-hand": "1"}})
    set_by_hand(box, {"metadata": {"managedFields": [{}]}})
    assert "managedFields" not in box.get(CONFIG_PATH)["metadata"]

    plan = box.plan(CHANGED, options())
    box.run(plan)

    (change,) = plan.changes
    assert change.conflicts == ()
    assert box.get(CONFIG_PATH)["data"] == {"x": "9", "by-hand": "1"}
    assert is_same_object(box.get(CONFIG_PATH), change.versions.after)
    owners = {(o.manager, o.operation) for e in read_owners(box.get(CONFIG_PATH)).entries for o in [e.owner]}
    assert owners == {("applyviz", "Apply"), ("before-first-apply", "Update")}


def test_kubectl_itself_had_moved_the_object_before():
    box = made_client_side(CONFIG)
    as_kubectl = ApplyOptions(field_manager="kubectl", has_preconditions=False)
    box.apply(CONFIG, as_kubectl)
    assert {e["manager"] for e in box.get(CONFIG_PATH)["metadata"]["managedFields"]} == {
        "kubectl",
        "kubectl-last-applied",
    }

    plan = box.plan(CHANGED, options("kubectl"))
    box.run(plan)

    assert [r.purpose for r in plan.changes[0].requests] == PURPOSES["kubectl"]
    assert is_same_object(box.get(CONFIG_PATH), plan.changes[0].versions.after)
    assert read_record(box.get(CONFIG_PATH)) == yaml.safe_load(CHANGED)


@pytest.mark.parametrize("manager", MANAGERS)
def test_nothing_that_is_written_names_uid_or_version_inside_last_applied(manager):
    box = made_client_side()
    seen = []
    handle = box.sandbox.handle

    def watch(request: Request, **more: object) -> Answer:
        answer = handle(request, **more)
        seen.append((answer.body.get("metadata") or {}).get("annotations") or {})
        return answer

    box.sandbox.handle = watch
    box.apply(AFTER, options(manager))

    texts = [json.loads(found[ANNOTATION]) for found in seen if ANNOTATION in found]
    assert texts
    assert not [text for text in texts if {"uid", "resourceVersion"} & set(text["metadata"])]


def carry_out_first(box: Box, change) -> dict:
    answer = box.sandbox.handle(placeholders.fill(change.requests[0], box.get(PATH)))
    assert answer.is_ok
    return answer.body


def test_what_is_left_after_the_first_write_is_what_was_approved():
    box = made_client_side()
    change = box.plan_one(AFTER, options())
    before = box.get(PATH)
    assert not has_moved(change, 0, before)

    live = carry_out_first(box, change)
    now = box.plan_one(AFTER, options())

    assert has_moved(change, 0, live)
    assert is_same_object(moved_live(change), live)
    assert [r.purpose for r in now.requests] == ["apply"]
    assert is_rest(change, 1, now)
    assert not is_rest(change, 0, now)


def test_status_of_controllers_is_no_news_between_two_writes_and_a_change_of_values_is():
    box = made_client_side()
    change = box.plan_one(AFTER, options())
    carry_out_first(box, change)
    status = {"status": {"observedGeneration": 1}}
    assert box.sandbox.handle(Request("PATCH", PATH + "/status", {"fieldManager": "c"}, MERGE_PATCH, status)).is_ok
    assert is_rest(change, 1, box.plan_one(AFTER, options()))

    paused = {"spec": {"paused": True}}
    assert box.sandbox.handle(Request("PATCH", PATH, {"fieldManager": "c"}, MERGE_PATCH, paused)).is_ok

    assert is_rest(change, 1, box.plan_one(AFTER, options()))  # what the plan does not touch
    image = {"spec": {"template": {"metadata": {"labels": {"app": "web", "tier": "b"}}}}}
    assert box.sandbox.handle(Request("PATCH", PATH, {"fieldManager": "c"}, MERGE_PATCH, image)).is_ok
    change_of_values = {"metadata": {"labels": {"tier": "c"}}}
    assert box.sandbox.handle(Request("PATCH", PATH, {"fieldManager": "c"}, MERGE_PATCH, change_of_values)).is_ok
    assert not is_rest(change, 1, box.plan_one(AFTER, options()))


def test_nothing_is_left_where_the_values_were_the_same():
    box = made_client_side(CONFIG)
    change = box.plan_one(CONFIG, options())
    values = replace(change, versions=replace(change.versions, after=moved_live(change)))

    assert is_rest(values, 1, replace(change, operation=Operation.UNCHANGED, requests=()))
    assert not is_rest(change, 1, replace(change, operation=Operation.UNCHANGED, requests=()))


def test_move_within_entries_of_the_same_names_is_told_by_its_fields():
    box = made_client_side(CONFIG)
    box.apply(CONFIG, ApplyOptions(field_manager="kubectl", has_preconditions=False))
    set_by_hand(box, {"metadata": {"annotations": {ANNOTATION: "{}"}}, "data": {"more": "1"}})
    live = box.get(CONFIG_PATH)
    change = box.plan_one(CHANGED, options("kubectl"))
    assert not has_moved(change, 0, live)

    answer = box.sandbox.handle(placeholders.fill(change.requests[0], live))

    assert has_moved(change, 0, answer.body)


def test_summary_says_from_whom_ownership_moves():
    summary = summarize([made_client_side().plan_one(AFTER, options())])

    assert (summary.ownership_moves, summary.moves_from) == (1, ("kubectl-client-side-apply",))
    assert summarize([Box().plan_one(AFTER)]).ownership_moves == 0
