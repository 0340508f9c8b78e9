"""Does every piece of advice do what it says, followed on a sandbox?"""

import pytest

from applyviz.engine.planning.conflicts.blocked_removals import Keeper
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.risks.advice import Advice
from applyviz.engine.risks.model import RiskLevel
from applyviz.engine.risks.versions import REMOVED
from applyviz.engine.schema.builtin import bundled
from tests.engine.planning import resolving  # noqa: F401 - its cases register themselves
from tests.engine.planning.advice import CASES, CLIENT, beside, find_advice, text_of, workload
from tests.engine.planning.cluster import Box


def test_every_piece_of_advice_is_followed_somewhere():
    assert set(CASES) == {*Advice, *ResolutionKind, *Keeper}


@pytest.mark.parametrize("case", dict.fromkeys(CASES.values()), ids=lambda case: case.__name__)
def test_advice_does_what_it_says(case):
    case(Box())


def test_versions_that_are_advised_are_served():
    served = {(r.gvk.api_version, r.gvk.kind) for r in bundled().list_resources()}
    versions = {version for version, _kind in served}
    advised = {(kind, instead) for kinds in REMOVED.values() for kind, (_since, instead) in kinds.items()}
    advised -= {("PodSecurityPolicy", "Pod Security admission")}  # its successor is no kind

    assert [one for one in advised if one[0] and (one[1], one[0]) not in served] == []
    assert [one for one in advised if one[1] not in versions] == []


def test_replicas_that_kubectl_applied_client_side_are_handed_over_too():
    box = Box()
    wanted, without = workload("moved", replicas=3), workload("moved")
    box.apply(text_of(wanted), CLIENT)

    told = find_advice(box.plan_one(text_of(wanted), related=beside("moved")))
    dropped = find_advice(box.plan_one(text_of(without), related=beside("moved")))

    assert set(told) == {Advice.REPLICAS_HAND_OVER}  # leaving it out would scale to 1: its ownership moves first
    assert dropped[Advice.REPLICAS_KEEP].level is RiskLevel.HIGH
