"""Why a part of a patch is sent again: what a kind does with its status decides."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH, Request
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.repeating import REPEATING_PATCH
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.sources import SourceChain
from tests.engine.planning.cluster import Box

CLIENT = ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply")
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status:
            type: object
            properties:
              parts:
                type: array
                items: {type: object, properties: {name: {type: string}, weight: {type: integer, default: 1}}}
"""
THING = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: one}\nstatus: {parts: [{name: first}]}\n"
QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: most}
spec: {hard: {pods: "5"}}
"""


def list_causes(change):
    return {risk.facts["field"]: risk.facts["cause"] for risk in change.risks if risk.kind is REPEATING_PATCH}


def test_status_without_a_subresource_is_written_like_any_other_field():
    catalog = SourceChain(CRDSource([yaml.safe_load(DEFINITION)]), bundled())
    box = Box()
    box.apply(DEFINITION)
    box.run(box.plan(THING, CLIENT, catalog=catalog))

    change = box.plan_one(THING.replace("first", "second"), CLIENT, catalog=catalog)

    assert list_causes(change) == {"status.parts": "the server adds defaults to its entries"}


@pytest.mark.parametrize("status", ["{hard: null}", '{hard: {pods: "4"}}'])
def test_status_with_a_subresource_is_ignored(status):
    box = Box()
    box.apply(QUOTA, CLIENT)
    path = "/api/v1/namespaces/default/resourcequotas/most/status"
    body = {"status": {"hard": {"pods": "5"}}}
    assert box.handle(Request("PATCH", path, {"fieldManager": "quota"}, MERGE_PATCH, body)).is_ok

    change = box.plan_one(QUOTA.replace('"5"', '"6"') + f"status: {status}\n", CLIENT)

    assert set(list_causes(change).values()) == {"the server ignores status here"}


def test_value_of_a_set_that_the_next_apply_adds_is_no_repetition():
    finalizers = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, finalizers: [%s]}\n"
    box = Box()
    box.run(box.plan(finalizers % "a.io/b, a.io/c, a.io/c", CLIENT))

    change = box.plan_one(finalizers % "a.io/c, a.io/b", CLIENT)

    (request,) = (one for one in change.requests if one.is_write)
    assert request.body["metadata"]["$deleteFromPrimitiveList/finalizers"] == ["a.io/c"]
    assert list_causes(change) == {}


def test_value_that_the_merge_loses_is_set_by_the_next_apply_and_does_not_repeat():
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [%s]}\n"
    only = service % "{name: t, port: 53}"
    box = Box()
    box.apply(service % "{name: t, port: 53}, {name: u, port: 53, protocol: UDP, targetPort: 443}", CLIENT)
    body = [{"op": "remove", "path": "/spec/ports/1"}]
    path = "/api/v1/namespaces/default/services/s"
    assert box.handle(Request("PATCH", path, {"fieldManager": "edit"}, JSON_PATCH, body)).is_ok

    change = box.plan_one(only, CLIENT)
    box.apply(only, CLIENT)
    (lost,) = box.get(path)["spec"]["ports"]
    box.apply(only, CLIENT)
    (found,) = box.get(path)["spec"]["ports"]

    assert "name" not in lost
    assert found["name"] == "t"
    assert list_causes(change) == {}
    assert not any(request.is_write for request in box.plan_one(only, CLIENT).requests)
