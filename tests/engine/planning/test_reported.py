"""Inputs of public bug reports (`tests/cases/reported`): the rows, reasons and risks, confirmed and estimated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from applyviz.engine.explain.sentences import render_reason
from applyviz.engine.objects.exchange import Request
from applyviz.engine.objects.paths import render_path
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import ApplyMode, ApplyOptions
from applyviz.engine.risks.sentences import render_risk
from applyviz.engine.schema.builtin import bundled
from applyviz.engine.schema.crds import CRDSource
from applyviz.engine.schema.sources import SourceChain
from applyviz.sandbox.api.estimates import EstimatingServer
from applyviz.web.reviews.pane.fields import FieldFilter, select_reasons
from tests.engine.planning.cluster import Box
from tests.yaml_files import read_yaml

CASES = Path(__file__).parents[2] / "cases" / "reported"
# What kubectl calls itself in each mode.
OPTIONS = {
    mode: ApplyOptions(mode=ApplyMode(mode), field_manager=manager, namespace="shop")
    for mode, manager in (("client", "kubectl-client-side-apply"), ("server", "kubectl"))
}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
CERTAINTIES = {"confirmed": {}, "estimated": {"can_dry_run": False, "server": EstimatingServer()}}


def load_cases() -> list[dict[str, Any]]:
    cases = [case for path in sorted(CASES.glob("*.yaml")) for case in read_yaml(path)]
    return [{**case, "mode": mode} for case in cases for mode in case.get("modes", [case.get("mode")])]


def write(obj: Any) -> str:
    """An object, or a manifest that is text because its spelling counts."""
    return obj if isinstance(obj, str) else yaml.safe_dump(obj, sort_keys=False)


def plan(case: dict[str, Any], certainty: str) -> PlannedObject:
    box = Box()
    assert box.handle(Request("POST", "/api/v1/namespaces", body=NAMESPACE)).is_ok
    definitions = [yaml.safe_load(text) for text in case.get("definitions", ())]
    for definition in definitions:
        assert box.handle(Request("POST", CRDS, body=definition)).is_ok
    catalog = {"catalog": SourceChain(CRDSource(definitions), bundled())} if definitions else {}
    if "before" in case:
        made = box.plan(write(case["before"]), OPTIONS[case.get("before_mode", case["mode"])], **catalog)
        assert all(change.has_effect for change in made.changes)
        box.run(made)
    return box.plan_one(write(case["manifest"]), OPTIONS[case["mode"]], **catalog, **CERTAINTIES[certainty])


def expect(case: dict[str, Any], what: str) -> Any:
    """What a case expects; the modes may say it in different words."""
    wanted = case.get(what, [])
    return wanted[case["mode"]] if isinstance(wanted, dict) else wanted


def read_rows(change: PlannedObject) -> list[str]:
    found = (reason for _n, reason in select_reasons(change, FieldFilter.CHANGES))
    return [f"{r.operation.value} {render_path(r.path)}: {render_reason(r)}" for r in found]


def read_risks(change: PlannedObject) -> list[str]:
    return [f"{risk.kind.slug} {risk.level.value} {render_risk(risk)}" for risk in change.risks]


@pytest.mark.parametrize("certainty", CERTAINTIES)
@pytest.mark.parametrize("case", load_cases(), ids=lambda case: f"{case['about']}, {case['mode']}")
def test_change_is_shown_as_it_is(case: dict[str, Any], certainty: str) -> None:
    change = plan(case, certainty)

    assert change.certainty.value == case.get("certainty", certainty)
    assert (read_rows(change), read_risks(change), change.error) == (
        expect(case, "rows"),
        expect(case, "risks"),
        case.get("error", ""),
    )
