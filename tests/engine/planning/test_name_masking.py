"""A path that names a list entry by a masked value is shown without it, wherever it is repeated."""

from __future__ import annotations

from applyviz.engine.diff.mask_policy import MaskPolicy
from applyviz.engine.objects.paths import FieldPath, fields, render_path, value
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.planning.objects.masking import mask_change, mask_risks
from applyviz.engine.planning.objects.name_masking import show_paths
from applyviz.engine.risks.lists import ORDER_CHURN
from applyviz.engine.risks.model import Risk, RiskLevel
from tests.engine.planning.cluster import Box

KEY = b"t" * 32
CANARY = "q7Rz0xWv-canary"
NOTE: FieldPath = (*fields("spec", "notes"), value(CANARY))
PLAIN: FieldPath = (*fields("metadata", "finalizers"), value("example.com/guard"))
NAMED = MaskPolicy(paths=("spec.notes.*",))
FACTS = {
    "path": render_path(NOTE),
    "dotless": render_path(NOTE).removeprefix("."),
    "value": CANARY,
    "other": f"notes[{CANARY}]",
    "count": "2",
}


def make_change(*paths: FieldPath) -> PlannedObject:
    change = Box().plan_one("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    return replace(change, risks=tuple(Risk(ORDER_CHURN, RiskLevel.INFO, path, facts=FACTS) for path in paths))


def test_shown_paths_name_no_masked_entry_and_others_as_they_are() -> None:
    note, plain = show_paths(make_change(), KEY, NAMED, [NOTE, PLAIN])

    assert CANARY not in note
    assert note.startswith(".spec.notes[")
    assert plain == render_path(PLAIN)
    assert show_paths(make_change(), KEY, MaskPolicy(), [NOTE]) == [render_path(NOTE)]


def test_risk_of_a_masked_entry_repeats_its_name_in_no_fact() -> None:
    change = make_change(NOTE)

    (risk,) = mask_risks(change, tag_key=KEY, policy=NAMED)

    assert CANARY not in f"{risk.path} {risk.facts}"
    assert risk.facts["path"] == render_path(risk.path)
    assert risk.facts["dotless"] == render_path(risk.path).removeprefix(".")
    assert (risk.facts["value"], risk.facts["other"], risk.facts["count"]) == ("…", "…", "2")
    assert mask_change(change, tag_key=KEY, policy=NAMED).risks == (risk,)


def test_risk_of_a_plain_path_keeps_its_value_beside_that_of_a_masked_entry() -> None:
    plain = Risk(ORDER_CHURN, RiskLevel.INFO, PLAIN, facts={"value": "1", "other": f"notes[{CANARY}]"})
    bare = Risk(ORDER_CHURN, RiskLevel.INFO, NOTE, facts={"path": render_path(NOTE)})
    change = replace(make_change(), risks=(plain, bare))

    first, second = mask_risks(change, tag_key=KEY, policy=NAMED)

    assert (first.path, first.facts["value"]) == (PLAIN, "1")
    assert CANARY not in f"{first.facts} {second.path} {second.facts}"
    assert second.facts == {"path": render_path(second.path)}


def test_change_without_risks_has_none_and_risks_of_plain_paths_stay() -> None:
    assert mask_risks(make_change(), tag_key=KEY, policy=NAMED) == ()
    assert mask_risks(make_change(PLAIN), tag_key=KEY, policy=NAMED) == make_change(PLAIN).risks
