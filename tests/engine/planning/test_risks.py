"""Risks of how an object is written: deleted, replaced, or with fields of others overwritten."""

from applyviz.engine.objects.exchange import MERGE_PATCH, Answer, Request
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.requests.options import ApplyOptions, Prune, PruneMode
from applyviz.engine.risks.deletions import DELETED, REPLACED
from applyviz.engine.risks.model import RiskLevel
from applyviz.engine.risks.planning.ownership import FORCED
from tests.engine.planning.advice import CLIENT
from tests.engine.planning.cluster import Box
from tests.engine.planning.test_objects import DEPLOYMENT

HIGH, INFO = RiskLevel.HIGH, RiskLevel.INFO
FORCING = ApplyOptions(takes_over=True)
OTHER = ApplyOptions(field_manager="other")


def config_map(value):
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{x: {value}}}\n"


def find_risks(change, *kinds):
    wanted = kinds or (FORCED, REPLACED, DELETED)
    return [(h.kind, h.level, dict(h.facts)) for h in change.risks if h.kind in wanted]


def test_overwriting_fields_of_others_is_a_high_risk_that_names_them():
    box = Box()
    box.apply(config_map("theirs"), OTHER)

    assert find_risks(box.plan_one(config_map("ours"), FORCING)) == [(FORCED, HIGH, {"owners": "other"})]


def test_overwritten_manager_is_named_with_the_subresource_that_it_wrote_through():
    box = Box()
    manifest = DEPLOYMENT.replace("APP", "web").replace("spec:", "spec:\n  replicas: 2", 1)
    box.apply(manifest)
    scale = "/apis/apps/v1/namespaces/default/deployments/web/scale"
    assert box.handle(
        Request("PATCH", scale, {"fieldManager": "kubectl"}, MERGE_PATCH, {"spec": {"replicas": 4}})
    ).is_ok

    change = box.plan_one(manifest.replace("replicas: 2", "replicas: 3"), FORCING)

    assert find_risks(change) == [(FORCED, HIGH, {"owners": "kubectl (scale)"})]


def test_force_that_overwrites_nothing_is_no_risk():
    box = Box()
    created = box.plan_one(config_map("theirs"), FORCING)
    box.apply(config_map("theirs"), OTHER)

    assert find_risks(created) == [(FORCED, INFO, {"owners": ""})]
    assert find_risks(box.plan_one(config_map("theirs"), FORCING)) == [(FORCED, INFO, {"owners": ""})]


def test_taking_over_from_client_side_apply_is_not_forcing():
    box = Box()
    box.apply(config_map("theirs"), CLIENT)

    assert find_risks(box.plan_one(config_map("ours"), FORCING)) == [(FORCED, INFO, {"owners": ""})]


def test_without_force_nothing_is_forced():
    box = Box()
    box.apply(config_map("theirs"), OTHER)

    assert find_risks(box.plan_one(config_map("theirs"))) == []


WEB = {"kind": "Deployment", "name": "web"}


def test_replacing_is_a_high_risk():
    box = Box()
    box.apply(DEPLOYMENT.replace("APP", "a"))

    change = box.plan_one(DEPLOYMENT.replace("APP", "b"), ApplyOptions(is_replacing_on_error=True))

    assert change.operation is Operation.REPLACE
    assert find_risks(change) == [(REPLACED, HIGH, {**WEB, "fields": "spec.selector"})]


def test_deleting_is_a_high_risk():
    box = Box()
    box.apply(config_map("one"))
    uid = box.get("/api/v1/namespaces/default/configmaps/a")["metadata"]["uid"]
    prune = Prune(PruneMode.NAMED, (f"core/v1/ConfigMap/default/a/{uid}",))

    (change,) = box.plan("", ApplyOptions(prune=prune)).changes

    assert change.operation is Operation.PRUNE
    assert find_risks(change) == [(DELETED, HIGH, {"kind": "ConfigMap", "name": "a"})]


def test_webhook_that_is_down_leaves_an_estimate():
    box = Box()
    down = 'Internal error occurred: failed calling webhook "policy.example.com": connection refused'
    box.intercept = lambda r: Answer(500, {"kind": "Status", "message": down}) if r.is_dry_run else None

    change = box.plan_one(config_map("one"))

    assert (change.operation, change.certainty) == (Operation.CREATE, Certainty.ESTIMATED)
    assert "failed calling webhook" in change.certainty_reason
