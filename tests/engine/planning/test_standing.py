"""Do conflict rules decide what they name, and nothing else; and is a plan that they decided another plan?"""

from __future__ import annotations

from applyviz.engine.objects.exchange import MERGE_PATCH, Request
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.conflicts.resolutions import ResolutionChoice, ResolutionKind
from applyviz.engine.planning.digest.fingerprint import digest_effect
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.objects.conflict_rules import FieldRule, RuleResolution, is_left_out
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from tests.engine.planning.cluster import Box

REPLICAS = ("f:spec", "f:replicas")
SCALER = "kube-controller-manager"
SCALE = "/apis/apps/v1/namespaces/default/deployments/web/scale"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: one}]}
"""


def make_rule(resolution=RuleResolution.GIVE_UP, **values):
    named = {"group": "apps", "kind": "Deployment", "namespace": "default", "name": "w*", "manager": SCALER}
    return FieldRule(**{"number": 7, "path": REPLICAS, "resolution": resolution, **named, **values})


def scale(box, replicas):
    body = {"spec": {"replicas": replicas}}
    assert box.sandbox.handle(Request("PATCH", SCALE, {"fieldManager": SCALER}, MERGE_PATCH, body)).is_ok


def make_box():
    box = Box()
    box.apply(DEPLOYMENT)
    scale(box, 5)
    return box


def name_answers(change):
    return [(a.path, a.manager, a.resolution, a.rule) for a in change.answers]


def test_rule_leaves_a_field_to_the_autoscaler():
    box = make_box()

    change = box.plan_one(DEPLOYMENT.replace("one", "two"), rules=(make_rule(),))

    assert (change.operation, change.conflicts) == (Operation.UPDATE, ())
    assert name_answers(change) == [(REPLICAS, SCALER, ResolutionKind.GIVE_UP, 7)]
    assert "replicas" not in change.requests[0].body["spec"]
    assert change.versions.after["spec"]["replicas"] == 5


def test_rule_to_leave_holds_while_the_values_are_equal():
    box = make_box()
    text, rules = DEPLOYMENT.replace("one", "two"), (make_rule(),)
    approved = box.plan_one(text, rules=rules)
    scale(box, 3)

    now = box.plan_one(text, rules=rules)

    assert now.requests[0].body["spec"] == approved.requests[0].body["spec"]
    assert digest_effect(now, key=b"k") == digest_effect(approved, key=b"k")


def test_rule_takes_over_only_from_whom_it_names():
    box = make_box()

    by_name = box.plan_one(DEPLOYMENT, rules=(make_rule(RuleResolution.OVERWRITE),))
    by_other = box.plan_one(DEPLOYMENT, rules=(make_rule(RuleResolution.OVERWRITE, manager="kubectl-edit"),))

    assert (by_name.operation, by_name.requests[0].query["force"]) == (Operation.UPDATE, "true")
    assert (by_other.operation, name_answers(by_other)) == (Operation.BLOCKED, [])


def test_field_of_two_managers_is_not_forced_by_a_rule_for_one():
    box = make_box()
    box.apply(DEPLOYMENT.replace("replicas: 3", "replicas: 5"), ApplyOptions(field_manager="helm"))

    change = box.plan_one(DEPLOYMENT, rules=(make_rule(RuleResolution.OVERWRITE),))
    for_all = box.plan_one(DEPLOYMENT, rules=(make_rule(RuleResolution.OVERWRITE, manager=""),))

    assert change.operation is Operation.BLOCKED
    assert change.open_fields[0].managers == ("helm", SCALER)
    assert (for_all.operation, for_all.requests[0].query["force"]) == (Operation.UPDATE, "true")


def test_decision_goes_before_a_rule():
    box = make_box()
    key = ("apps", "Deployment", "default", "web")
    decisions = {key: (ResolutionChoice(REPLICAS, SCALER, ResolutionKind.OVERWRITE),)}

    change = box.plan_one(DEPLOYMENT, rules=(make_rule(),), decisions=decisions)

    assert name_answers(change) == [(REPLICAS, SCALER, ResolutionKind.OVERWRITE, 0)]


def test_rule_names_its_objects():
    ref = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "default", "web")

    assert make_rule().covers(ref)
    assert make_rule(namespace="").covers(ref)
    assert not make_rule(namespace="shop").covers(ref)
    assert not make_rule(name="x*").covers(ref)
    assert not make_rule(kind="StatefulSet").covers(ref)


def test_rules_do_not_touch_a_client_side_apply():
    box = make_box()
    options = ApplyOptions(mode=ApplyMode.CLIENT)

    change = box.plan_one(DEPLOYMENT, options, rules=(make_rule(),))

    assert change.answers == ()
    assert change.versions.manifest["spec"]["replicas"] == 3


def test_ruled_plan_has_another_digest_with_every_rule():
    box = make_box()
    text = DEPLOYMENT.replace("one", "two")
    rules = [
        (),
        (make_rule(),),
        (make_rule(number=8),),
        (make_rule(RuleResolution.SHARE),),
        (make_rule(RuleResolution.IGNORE),),
    ]

    digests = [digest_effect(box.plan_one(text, rules=chosen), key=b"k") for chosen in rules]

    assert len(set(digests)) == len(digests)


def test_field_left_out_of_comparison_may_move():
    """A server that stamps every write answers each dry run with another value."""
    box = Box()
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {mine: 'x'}}\ndata: {x: 'NEW'}\n"
    box.apply(text)
    stamps = iter("abcdef")

    def stamp(request):
        if not (request.is_write and request.is_dry_run):
            return None
        answer = box.sandbox.handle(request)
        answer.body["metadata"]["annotations"]["stamp"] = next(stamps)
        return answer

    box.intercept = stamp
    changed = text.replace("NEW", "NEWER")
    path = ("f:metadata", "f:annotations", "f:stamp")
    rule = FieldRule("", "ConfigMap", "", "*", path, RuleResolution.IGNORE, number=1)

    moved = {digest_effect(box.plan_one(changed), key=b"k") for _ in range(2)}
    still = {digest_effect(box.plan_one(changed, rules=(rule,)), key=b"k") for _ in range(2)}

    assert (len(moved), len(still)) == (2, 1)
    change = box.plan_one(changed, rules=(rule,))
    assert change.ignored == (("metadata", "annotations", "stamp"),)
    assert is_left_out(change, path)
    assert not is_left_out(change, ("f:metadata", "f:annotations", "f:mine"))


def test_rule_to_leave_asks_nothing_where_the_field_is_nobody_elses():
    box = Box()
    box.apply(DEPLOYMENT)

    change = box.plan_one(DEPLOYMENT.replace("one", "two"), rules=(make_rule(),))

    assert (change.operation, change.answers) == (Operation.UPDATE, ())
    assert change.requests[0].body["spec"]["replicas"] == 3


def test_field_left_out_inside_lists_is_named_by_its_entry_or_by_any():
    named = make_rule(path=("f:spec", "f:containers", 'k:{"name":"web"}', "f:image"))
    unnamed = make_rule(path=("f:spec", "f:ports", 'k:{"port":80}', "f:nodePort"))
    values = make_rule(path=("f:metadata", "f:finalizers", 'v:"x"'))

    assert named.plain_path == ("spec", "containers", "web", "image")
    assert unnamed.plain_path == ("spec", "ports", "*", "nodePort")
    assert values.plain_path == ("metadata", "finalizers", "*")
