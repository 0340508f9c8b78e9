"""That another tool manages an object is a high risk of its deletion; kOps is no other tool for its own channel."""

from __future__ import annotations

import pytest

from applyviz.engine.channels.model import ChannelPlan
from applyviz.engine.planning.objects.write_risks import note_others
from applyviz.engine.planning.sets.prune import describe_choices
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.model import RiskLevel
from applyviz.engine.risks.set_context import BELONGS_TO_OTHER, KOPS_ADDON


def note(tool, *, is_gone, channel=None):
    found = [BELONGS_TO_OTHER.at((), {"tool": tool})]
    return [(one.level, one.facts) for one in note_others(found, ApplyOptions(channel=channel), is_gone=is_gone)]


@pytest.mark.parametrize("tool", ["Helm", KOPS_ADDON])
def test_object_of_another_tool_is_a_high_risk_to_delete_and_to_replace(tool):
    assert note(tool, is_gone=True) == [(RiskLevel.HIGH, {"tool": tool, "deleted": "yes"})]
    assert note(tool, is_gone=False) == [(RiskLevel.HIGH, {"tool": tool})]


def test_addon_of_the_channel_that_is_planned_is_deleted_without_that_risk_and_replaced_with_the_usual_one():
    channel = ChannelPlan("channel.yaml")

    assert note(KOPS_ADDON, is_gone=True, channel=channel) == []
    assert note(KOPS_ADDON, is_gone=False, channel=channel) == [(BELONGS_TO_OTHER.level, {"tool": KOPS_ADDON})]
    assert note("Helm", is_gone=True, channel=channel) == [(RiskLevel.HIGH, {"tool": "Helm", "deleted": "yes"})]


def test_run_that_did_not_prune_chose_nothing_else():
    assert describe_choices(ApplyOptions(selector="app=a")) == {"The prune method": "none"}
