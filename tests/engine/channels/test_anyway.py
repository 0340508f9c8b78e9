"""A person may have an addon planned that kOps skips; what kOps does with the others stays the same."""

from __future__ import annotations

import json

import pytest

from applyviz.engine.channels.choosing import choose
from applyviz.engine.channels.model import Addon, AddonAction, AddonFault, AddonReason
from applyviz.engine.channels.sentences import render_choice
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.sets.addon_risks import find_skipped
from applyviz.engine.risks.model import RiskLevel
from applyviz.engine.risks.sentences import render_risk

WEB = Addon("web", "web.yaml", "web.yaml", id="k8s-1.30", version="1.5.0", manifest_hash="a" * 64)


def record(**changes):
    value = {"version": "1.5.0", "id": WEB.id, "manifestHash": WEB.manifest_hash, "systemGeneration": 1, **changes}
    return {"kube-system": {"addons.k8s.io/web": json.dumps(value)}}


def choose_all(*addons, annotations=None, faults=None, anyway=("web",)):
    return choose(
        addons, kubernetes="v1.36.3", annotations=annotations or {}, faults=faults or {}, anyway=frozenset(anyway)
    )


@pytest.mark.parametrize(
    ("addon", "annotations", "action", "level", "why", "risk"),
    [
        (
            WEB,
            record(version="1.6.0"),
            "update",
            "high",
            "Lower version: installed 1.6.0, channel 1.5.0. kOps skips it; it is planned anyway.",
            "Addon web goes from version 1.6.0 back to 1.5.0, which kOps never does. The next run of kOps may change "
            "it again.",
        ),
        (
            WEB,
            record(),
            "update",
            "medium",
            "Installed: same id and manifest. kOps skips it; it is planned anyway.",
            "Addon web is installed with the same id and manifest: kOps skips it.",
        ),
        (
            WEB,
            record(systemGeneration=2),
            "update",
            "high",
            "Installed by a newer version of kOps. kOps skips it; it is planned anyway.",
            "A newer version of kOps installed addon web, and this one would skip it. The next run of kOps may change "
            "it again.",
        ),
        (
            replace(WEB, kubernetes_version="<1.30.0"),
            {},
            "install",
            "high",
            "For Kubernetes <1.30.0; the server runs v1.36.3. kOps skips it; it is planned anyway.",
            "Addon web is for Kubernetes <1.30.0, and the server runs v1.36.3: kOps skips it.",
        ),
        (
            replace(WEB, kubernetes_version="soon"),
            record(),
            "update",
            "high",
            "The range soon of Kubernetes versions is invalid: kOps ignores the entry. kOps skips it; it is planned "
            "anyway.",
            "Addon web is for Kubernetes soon, which is no range: kOps skips it.",
        ),
    ],
)
def test_skipped_addon_is_planned_anyway_with_a_risk_that_says_so(addon, annotations, action, level, why, risk):
    (skipped,) = choose_all(addon, annotations=annotations, anyway=())
    (planned,) = choose_all(addon, annotations=annotations)

    assert (skipped.action, skipped.can_be_planned, skipped.is_anyway) == (AddonAction.SKIP, True, False)
    assert (planned.action.value, planned.reason, planned.is_anyway) == (action, skipped.reason, True)
    assert render_choice(planned, "v1.36.3") == why
    (found,) = find_skipped(planned, "v1.36.3")
    assert (found.level.value, render_risk(found)) == (level, risk)
    assert find_skipped(skipped, "v1.36.3") == find_skipped(None, "v1.36.3") == ()


def test_addon_that_kops_applies_is_not_planned_against_its_rules():
    (plan,) = choose_all(WEB)

    assert (plan.action, plan.reason, plan.is_anyway) == (AddonAction.INSTALL, AddonReason.NOT_INSTALLED, False)
    assert find_skipped(plan, "v1.36.3") == ()


def test_entry_for_this_kubernetes_counts_and_the_others_offer_nothing():
    old = replace(WEB, file="old.yaml", kubernetes_version="<1.30.0")

    first, second = choose_all(old, WEB, annotations=record())
    offered = choose_all(old, WEB, annotations=record(), anyway=())

    assert (first.action, first.reason) == (AddonAction.SKIP, AddonReason.OTHER_KUBERNETES)
    assert (second.action, second.is_anyway) == (AddonAction.UPDATE, True)
    assert [one.can_be_planned for one in offered] == [False, True]


def test_of_entries_for_other_versions_the_greatest_is_planned():
    older = replace(WEB, file="older.yaml", version="1.4.0", kubernetes_version="<1.20.0")
    old = replace(WEB, file="old.yaml", kubernetes_version="<1.30.0")

    found = choose_all(old, older)

    assert [(one.action.value, one.reason.value) for one in found] == [
        ("install", "other-kubernetes"),
        ("skip", "other-kubernetes"),
    ]
    assert [one.can_be_planned for one in choose_all(old, older, anyway=())] == [True, False]


def test_addon_whose_manifest_is_missing_cannot_be_planned_anyway():
    faults = {WEB: AddonFault(AddonReason.NO_MANIFEST)}

    (skipped,) = choose_all(WEB, annotations=record(), faults=faults, anyway=())
    (planned,) = choose_all(WEB, annotations=record(), faults=faults)

    assert (skipped.action, skipped.can_be_planned) == (AddonAction.SKIP, False)
    assert (planned.action, planned.reason) == (AddonAction.NOT_PLANNED, AddonReason.NO_MANIFEST)


def test_level_of_an_addon_that_is_there_is_medium_because_it_is_only_applied_again():
    (plan,) = choose_all(WEB, annotations=record())

    assert find_skipped(plan, "v1.36.3")[0].level is RiskLevel.MEDIUM
