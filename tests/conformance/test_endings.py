"""Do rows and risks notice a plan that hides the end of an object, or states one that does not happen?"""

from __future__ import annotations

import pytest

from applyviz.conformance import reasons, risks, rows
from applyviz.conformance.inputs import ApplyInput, Planned, plan_all, read_documents
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode
from applyviz.web.management.presenting import present

RECORD = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"finalizers":["a.b/c"],"name":"c"},"data":{"x":"1"}}'
LIVE = f"""
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
  namespace: shop
  deletionTimestamp: "2026-05-01T00:00:00Z"
  deletionGracePeriodSeconds: 0
  finalizers: [FINALIZERS]
  annotations: {{kubectl.kubernetes.io/last-applied-configuration: '{RECORD}'}}
  managedFields:
  - manager: kubectl
    operation: Apply
    apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1: {{"f:metadata": {{"f:finalizers": {{'v:"a.b/c"': {{}}}}}}, "f:data": {{"f:x": {{}}}}}}
  - manager: waiting
    operation: Update
    apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1: {{"f:metadata": {{"f:finalizers": {{'v:"d.e/f"': {{}}}}}}}}
data: {{x: "1"}}
"""
MANIFEST = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, finalizers: KEPT}, data: {x: VALUE}}"


def plan(finalizers: str, mode: ApplyMode, value: str = "'2'", kept: str = "[]") -> Planned:
    live = tuple(d.obj for d in read_documents(LIVE.replace("FINALIZERS", finalizers)))
    given = ApplyInput("x", read_documents(MANIFEST.replace("VALUE", value).replace("KEPT", kept)), live)
    return next(one for one in plan_all(given) if one.mode is mode)


@pytest.mark.parametrize("mode", list(ApplyMode))
@pytest.mark.parametrize("value", ["'1'", "'2'"])
def test_object_that_ends_is_told(mode, value):
    planned = plan("a.b/c", mode, value)
    shown = present(planned.change, planned.options)

    assert planned.change.operation is Operation.DELETE
    assert [judge.judge(planned, shown).reason for judge in (rows, reasons, risks)] == ["", "", ""]


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_object_that_ends_as_an_update_is_noticed(mode):
    planned, other = plan("a.b/c", mode), plan("a.b/c, d.e/f", mode, kept="[d.e/f]")
    hidden = replace(planned, change=replace(other.change, requests=planned.change.requests))
    shown = present(hidden.change, hidden.options)

    assert rows.judge(hidden, shown).reason.startswith("the page says update, and the object is gone")
    assert risks.judge(hidden, shown).reason == "prune is missing"


@pytest.mark.parametrize("mode", list(ApplyMode))
def test_object_that_stays_and_is_called_deleted_is_noticed(mode):
    planned, other = plan("a.b/c", mode), plan("a.b/c, d.e/f", mode, kept="[d.e/f]")
    false = replace(other, change=planned.change)
    shown = present(false.change, false.options)

    assert rows.judge(false, shown).reason == "the page says delete, and the object stays"
    assert risks.judge(false, shown).reason == "prune is false"
