"""Does a comparison without notes find the effect of the plan where the server's dry run is all that it calculates?"""

from __future__ import annotations

import pytest

from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.effects import effect
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.planning.simulation.estimated_answers import EstimatedAnswers
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.immutable import IMMUTABLE_FIELD
from applyviz.sandbox.api.estimates import EstimatingServer
from tests.engine.planning.cluster import Box

BOTH = pytest.mark.parametrize("mode", list(ApplyMode))
OTHER = ApplyOptions(field_manager="other")
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: PORT}]}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:PORT"}]}
"""
TEXTS = pytest.mark.parametrize("text", [SERVICE, DEPLOYMENT], ids=["service", "deployment"])


def refuse(status: int, message: str, causes: tuple[dict, ...] = ()) -> Answer:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "message": message}
    return Answer(status, {**body, "details": {"causes": list(causes)}})


CONFLICT = {"reason": "FieldManagerConflict", "message": 'conflict with "other"', "field": ".spec.replicas"}
REFUSALS = {
    "conflict": refuse(409, "conflict", (CONFLICT,)),
    "changed": refuse(409, "the object has been modified"),
    "invalid": refuse(422, "not valid", ({"field": "spec", "message": "no"},)),
    "forbidden": refuse(403, 'user "bob" cannot patch resource "services"'),
    "unsupported": refuse(400, "admission webhook does not support dry run"),
    "unreachable": Answer(0, {"message": "no route"}),
    "another": Answer(200, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}}),
}


@pytest.fixture
def calculated(monkeypatch):
    """The writes whose results the engine calculates itself."""
    found = []
    calculate = EstimatedAnswers._write
    monkeypatch.setattr(EstimatedAnswers, "_write", lambda *given: found.append(given[1]) or calculate(*given))
    return found


@TEXTS
@BOTH
def test_confirmed_result_is_not_calculated_again(mode, text, calculated):
    box, options = Box(), ApplyOptions(mode=mode)
    box.apply(text.replace("PORT", "80"), options)
    noted = box.plan_one(text.replace("PORT", "81"), options)
    calculated.clear()
    box.asked.clear()

    bare = box.plan_one(text.replace("PORT", "81"), options, has_notes=False)

    assert (bare.operation, bare.certainty) == (Operation.UPDATE, Certainty.CONFIRMED)
    assert effect(bare) == effect(noted)
    assert bare.versions == replace(noted.versions, merged=None)
    assert [request.is_dry_run for request in box.asked] == [False, True]
    assert calculated == []


@BOTH
def test_fields_that_another_manager_owns_have_the_same_effect(mode):
    box = Box()
    box.apply(DEPLOYMENT.replace("PORT", "1"), OTHER)
    for takes_over in (False, True):
        options = ApplyOptions(mode=mode, takes_over=takes_over)
        noted, bare = (box.plan_one(DEPLOYMENT.replace("PORT", "2"), options, has_notes=has) for has in (True, False))

        assert effect(bare) == effect(noted)
        assert [c.manager for c in bare.conflicts] == [c.manager for c in noted.conflicts]


@pytest.mark.parametrize("name", REFUSALS)
@TEXTS
@BOTH
def test_whatever_the_server_answers_the_change_is_that_of_the_plan(mode, text, name):
    box, options = Box(), ApplyOptions(mode=mode)
    box.apply(text.replace("PORT", "80"), options)
    box.intercept = lambda request: REFUSALS[name] if request.is_dry_run else None
    server = EstimatingServer()

    noted, bare = (
        box.plan_one(text.replace("PORT", "81"), options, has_notes=has, server=server) for has in (True, False)
    )

    assert effect(bare) == effect(noted)
    found = [(c.operation, c.certainty, c.error, c.refusal, c.versions) for c in (bare, noted)]
    assert found[0] == found[1]


@BOTH
def test_new_object_is_calculated(mode, calculated):
    noted, bare = (Box().plan_one(SERVICE.replace("PORT", "80"), ApplyOptions(mode=mode), has_notes=n) for n in (1, 0))

    assert effect(bare) == effect(noted)
    assert bare.versions.merged == noted.versions.merged is not None
    assert calculated


@BOTH
@pytest.mark.parametrize("accepts", [True, False])
def test_field_that_a_dry_run_changed_is_not_immutable(mode, accepts):
    """The tables of one release may name more fields than the server of another one keeps."""
    sealed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\nimmutable: true\ndata: {a: x}\n"
    box = Box()
    box.apply(sealed, ApplyOptions(mode=mode))
    live = box.get("/api/v1/namespaces/default/configmaps/c")
    changed = Answer(200, {**live, "data": {"a": "z"}})
    box.intercept = lambda request: changed if accepts and request.method == "PATCH" else None

    change = box.plan_one(sealed.replace("a: x", "a: z"), ApplyOptions(mode))

    assert change.operation is (Operation.UPDATE if accepts else Operation.ERROR)
    assert (IMMUTABLE_FIELD in {risk.kind for risk in change.risks}) is not accepts
