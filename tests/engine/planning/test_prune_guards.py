"""What stands between a set and its deletions: an empty source, changed choices, a parent of the wrong kind."""

from __future__ import annotations

import pytest
import yaml

from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.objects.context import EarlierRun
from applyviz.engine.requests.options import ApplyOptions, Prune, PruneMode
from applyviz.engine.risks.pruning import PRUNE_CHANGED
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.model import SchemaOrigin
from applyviz.engine.schema.sources import SourceChain
from tests.engine.planning.cluster import Box
from tests.engine.planning.test_sets import CLIENT, DEFINITION, SET, THING, config, prune_by_allowlist


@pytest.mark.parametrize("options", [prune_by_allowlist("core/v1/ConfigMap"), SET])
def test_set_without_objects_prunes_nothing(options):
    box = Box()
    box.apply(config("a"), CLIENT)

    plan = box.plan("", options)

    assert (plan.changes, [p.reason for p in plan.problems]) == ((), ["no objects passed to apply: nothing is pruned"])


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (prune_by_allowlist("core/v1/ConfigMap"), prune_by_allowlist("core/v1/ConfigMap"), []),
        (
            ApplyOptions(prune=Prune(PruneMode.ALLOWLIST)),
            prune_by_allowlist("core/v1/ConfigMap"),
            ["The selector", "The allowlist"],
        ),
        (SET, prune_by_allowlist("core/v1/ConfigMap"), ["The prune method"]),
        (CLIENT, prune_by_allowlist("core/v1/ConfigMap"), ["The prune method"]),
        (
            replace(SET, prune=replace(SET.prune, excepted=("core/Secret",))),
            SET,
            ["The list of kinds that are never pruned"],
        ),
        (SET, replace(SET, prune=Prune(PruneMode.APPLYSET, applyset="configmaps/shop")), ["The ApplySet parent"]),
        (replace(SET, prune=replace(SET.prune, applyset=f"secrets/{SET.prune.applyset}")), SET, []),
        (
            prune_by_allowlist("core/v1/Secret", "core/v1/ConfigMap"),
            prune_by_allowlist("core/v1/ConfigMap", "core/v1/Secret"),
            [],
        ),
    ],
)
def test_choices_that_differ_from_the_last_run_are_risks_of_the_first_deletion(before, now, told):
    box = Box()
    box.apply(config("a") + config("b"), CLIENT if now.selector else now)

    plan = box.plan(config("a"), now, earlier=EarlierRun("3", before, ("app.yaml",)))

    found = [r for c in plan.changes for r in c.risks if r.kind is PRUNE_CHANGED]
    assert [risk.facts["choice"] for risk in found] == told


def test_custom_parent_must_be_of_a_permitted_kind():
    box = Box()
    box.run(box.plan(THING + DEFINITION))
    catalog = SourceChain(CRDSource([yaml.safe_load(DEFINITION)], origin=SchemaOrigin.CLUSTER_CRD), bundled())
    options = ApplyOptions(prune=Prune(PruneMode.APPLYSET, applyset="things.example.org/t"))

    plan = box.plan(config("a"), options, catalog=catalog)

    assert (plan.changes, [p.reason for p in plan.problems]) == (
        (),
        ['resource "things.example.org" is not permitted as an ApplySet parent'],
    )
