"""A kind of risk is declared once, known everywhere, and the same object wherever it is read."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

from applyviz.engine.objects.errors import PlanError
from applyviz.engine.planning.digest.serialize import from_json, to_json
from applyviz.engine.risks.model import KINDS, Risk, RiskKind, RiskLevel, RiskSubject
from applyviz.engine.risks.restarts import PODS_RESTART
from applyviz.engine.risks.rules import rule
from applyviz.workflow.policies.rules import POLICY_RISKS


def test_every_kind_is_known_wherever_one_of_them_is() -> None:
    load = "from applyviz.engine.risks.model import KINDS; print(*sorted(KINDS))"

    done = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True, check=True)

    assert done.stdout.split() == sorted(KINDS)
    assert len(KINDS) > 60


def test_kind_that_is_copied_or_read_is_the_declared_one() -> None:
    risk = PODS_RESTART.at(facts={"pods": "2"}, level=RiskLevel.HIGH)

    read = [pickle.loads(pickle.dumps(risk)), copy.deepcopy(risk), from_json(Risk, to_json(risk))]

    assert [one.kind is PODS_RESTART for one in read] == [True, True, True]
    assert read == [risk] * 3
    assert to_json(risk)["kind"] == str(PODS_RESTART) == "pods-restart"


def test_unknown_kind_is_not_read() -> None:
    with pytest.raises(PlanError, match="no-such-risk"):
        from_json(Risk, {"kind": "no-such-risk", "level": "high"})


def test_two_kinds_do_not_share_a_slug() -> None:
    with pytest.raises(ValueError, match="two risks have the slug pods-restart"):
        RiskKind("pods-restart", "Another", "Another.")

    assert KINDS["pods-restart"] is PODS_RESTART


def test_two_rules_do_not_share_a_number() -> None:
    def find_nothing(subject: RiskSubject) -> list[Risk]:
        return []

    with pytest.raises(ValueError, match="two rules have the number 10"):
        rule(10)(find_nothing)


def test_risks_of_policies_have_an_order() -> None:
    numbers = [kind.policy_order for kind in POLICY_RISKS]

    assert numbers == sorted(set(numbers))
    assert POLICY_RISKS[0].slug == "prune"
