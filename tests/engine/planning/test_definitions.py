"""Definitions of kinds that cannot be read: each is an object of its set like any other, and ends no plan."""

from __future__ import annotations

import pytest

from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.requests.options import ApplyOptions, SetAction
from applyviz.engine.schema.builtin import bundled
from applyviz.sandbox.api.estimates import with_estimates
from tests.engine.planning.cluster import NOW, Box

NAMED = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: toys.example.com}\n"
CONFIG = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\n"
BROKEN = [
    "",
    "spec: 5",
    "spec: {names: {plural: toys}}",
    "spec: {group: example.com, names: {kind: [Toy], plural: toys}}",
    "spec: {group: [example.com], names: {kind: Toy, plural: toys}}",
    "spec: {group: example.com, names: {kind: Toy, plural: toys, shortNames: 5}, versions: [{name: v1}]}",
    "spec: {group: example.com, names: {kind: Toy, plural: toys}, versions: 5}",
    "spec: {group: example.com, names: {kind: Toy, plural: toys}, versions: [{name: [v1], served: true}]}",
]
SERVER = with_estimates(PlanningContext(bundled(), NOW)).server


def plan(spec: str, options: ApplyOptions, *, can_dry_run: bool = True) -> dict[str, str]:
    planned = Box().plan(f"{NAMED}{spec}\n{CONFIG}", options, can_dry_run=can_dry_run, server=SERVER)
    return {change.ref.name: change.operation.value for change in planned.changes}


@pytest.mark.parametrize("spec", BROKEN)
@pytest.mark.parametrize("can_dry_run", [True, False])
def test_definition_that_cannot_be_read_stops_no_other_object(spec, can_dry_run):
    assert plan(spec, ApplyOptions(), can_dry_run=can_dry_run) == {"toys.example.com": "error", "settings": "create"}


@pytest.mark.parametrize("spec", BROKEN)
def test_deletion_needs_no_more_than_the_name_of_a_definition(spec):
    options = ApplyOptions(action=SetAction.DELETE)

    assert plan(spec, options) == {"toys.example.com": "not-found", "settings": "not-found"}
