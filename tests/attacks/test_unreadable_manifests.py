"""Problems, errors and risks of unreadable or refused manifests repeat none of their values.

Every reader of a review sees why a file is left out; only its author saw the file.
"""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import ClusterError
from applyviz.records.enums import PlanState
from applyviz.workflow.plans import planner
from tests.attacks.conftest import find_leaks
from tests.attacks.test_identical_pages import World
from tests.attacks.test_password_fields import CANARY, find_shown
from tests.stories import Team

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
HEAD = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"
NUMBER = "70123456789"
UNREAD = {
    "an alias": f"{HEAD}stringData:\n  opening: *{CANARY}\n",
    "an alias of itself": f"{HEAD}stringData: &{CANARY}\n  opening: *{CANARY}\n",
    "a tag": f"{HEAD}stringData:\n  opening: !!int {CANARY}\n",
    "a tag of its own": f"{HEAD}stringData:\n  opening: !{CANARY} x\n",
    "behind a separator": f"a: b\n--- {{apiVersion: v1, kind: Secret, stringData: {{opening: {CANARY}}}}}\n",
    "glued to a separator": f"a: b\n---{CANARY}\n",
    "an open quote": f'{HEAD}stringData:\n  opening: "{CANARY}\n',
    "a tab": f"{HEAD}stringData:\n\topening: {CANARY}\n",
    "no colon": f"{HEAD}stringData:\n  opening {CANARY}\n  x: y\n",
    "a directive": f"%{CANARY} 1\n---\na: b",
    "an escape": f'{HEAD}stringData: {{opening: "{CANARY}\\q"}}',
    "a block": f"{HEAD}stringData:\n  opening: |{CANARY}\n    x",
    "a merge": f"{HEAD}stringData: {{<<: {CANARY}}}",
    "a NUL": f'{HEAD}stringData: {{opening: "{CANARY}\x00"}}',
    "a list": f"- {CANARY}\n",
    "a text": f"{CANARY}\n",
    "a text instead of a map": f"{HEAD}stringData: {CANARY}\n",
    "a list instead of a map": f"{HEAD}stringData: [{CANARY}]\n",
    "a map instead of a text": f"{HEAD}stringData: {{opening: {{a: {CANARY}}}}}\n",
    "no base64": f"{HEAD}data:\n  opening: {CANARY}!\n",
    "a wrong field": f"{HEAD}stringdata:\n  opening: {CANARY}\n",
    "JSON that was cut": f'{{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"a"}},"stringData":{{"a":"{CANARY}',
    "JSON with a control character": f'{{"apiVersion":"v1","kind":"Secret","stringData":{{"a":"{CANARY}\x01"}}}}',
    "metadata": f"apiVersion: v1\nkind: Secret\nmetadata: [{CANARY}]\n",
    "a patch": f"kind: Patch\ntarget: {{apiVersion: v1, kind: Secret, name: a}}\npatch: {CANARY}\n",
    "an operation": f"kind: Patch\ntarget: {{apiVersion: v1, kind: Secret, name: a}}\ntype: json\npatch: [{CANARY}]\n",
    "the op of an operation": f"kind: Patch\ntarget: {{apiVersion: v1, kind: Secret, name: a}}\ntype: json\n"
    f"patch: [{{op: {CANARY}, path: /data/a, value: x}}]\n",
    "a path that is none": f"kind: Patch\ntarget: {{apiVersion: v1, kind: Secret, name: a}}\ntype: json\n"
    f"patch: [{{op: add, path: {CANARY}, value: x}}]\n",
    "a number": f"{HEAD}stringData:\n  opening: {NUMBER}\n",
    "an octal number": f"{HEAD}stringData:\n  opening: 0{NUMBER[:2]}123456\n",
    "a big number": f"{HEAD}stringData:\n  opening: {NUMBER}{NUMBER}.5\n",
    "a number in JSON": f'{{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"a"}},"data":{{"a":{NUMBER}e999}}}}',
}


@pytest.mark.parametrize("name", UNREAD)
def test_no_problem_repeats_a_value(team: Team, name: str) -> None:
    plan = team.plan(UNREAD[name], "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {a: plain}\n")

    assert plan.state == PlanState.COMPLETE, plan.error
    assert [leak for canary in (CANARY, NUMBER, "70123456") for leak in find_leaks(canary)] == []


@pytest.mark.parametrize("name", UNREAD)
def test_no_problem_repeats_a_value_while_the_cluster_is_away(
    team: Team, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fail(claim: object) -> None:
        raise ClusterError("the cluster does not answer")

    monkeypatch.setattr(planner, "_fix_account", fail)
    plan = team.plan(UNREAD[name], "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {a: plain}\n")

    assert (plan.state, plan.error) == (PlanState.FAILED, "the cluster does not answer")
    assert [leak for canary in (CANARY, NUMBER, "70123456") for leak in find_leaks(canary)] == []


@pytest.mark.core(1)
@pytest.mark.parametrize("name", ["an alias", "behind a separator"])
def test_no_page_shows_it(team: Team, name: str, step: int) -> None:
    plan = team.plan(UNREAD[name], "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {a: plain}\n")

    assert find_shown(World(team, [plan, plan, plan]), 1, step) == []
