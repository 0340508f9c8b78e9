"""Nulls of a custom resource after ownership moves: the dry-run update drops them, and the apply may be refused."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.sources import SourceChain
from applyviz.sandbox.api.estimates import EstimatingServer
from tests.engine.planning.cluster import Box

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
          spec:
            type: object
            properties:
              parts: {type: array, items: {type: object, properties: {name: {type: string}}}}
              size: {type: integer, nullable: true}
              mode: {type: string, default: fast}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              any: {x-kubernetes-preserve-unknown-fields: true}
"""
THING = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: one}\nspec: {parts: [{name: a}], size: 1, %s}\n"
CLIENT = ApplyOptions(mode=ApplyMode.CLIENT, field_manager="kubectl-client-side-apply")


@pytest.mark.parametrize(
    ("more", "operation", "certainty"),
    [
        ("parts: null", Operation.ERROR, Certainty.NONE),
        ("parts: [{name: null}]", Operation.ERROR, Certainty.NONE),
        ("mode: null", Operation.UPDATE, Certainty.ESTIMATED),
        ("size: null", Operation.UPDATE, Certainty.CONFIRMED),
        ("free: {a: null}", Operation.UPDATE, Certainty.CONFIRMED),
        ("any: [{name: null}]", Operation.UPDATE, Certainty.CONFIRMED),
    ],
)
def test_null_that_the_dry_run_drops_is_estimated(more: str, operation: Operation, certainty: Certainty):
    catalog, box = SourceChain(CRDSource([yaml.safe_load(DEFINITION)]), bundled()), Box()
    box.apply(DEFINITION)
    box.run(box.plan(THING % "mode: slow", CLIENT, catalog=catalog))
    name = more.partition(":")[0]
    manifest = THING.replace(f"{name}: [{{name: a}}], ", "").replace(f"{name}: 1, ", "") % more

    change = box.plan_one(manifest, ApplyOptions(), catalog=catalog, server=EstimatingServer())

    assert (change.operation, change.certainty) == (operation, certainty)
