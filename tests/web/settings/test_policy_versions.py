"""Changes between two versions of a policy, in the words of its page; every changed rule is listed."""

import pytest
from django.urls import reverse
from msgspec.structs import fields

from applyviz.engine.objects.structs import replace
from applyviz.records.enums import Role
from applyviz.web.components.phrases import title_kind
from applyviz.web.settings.pages.policies import describe_demand, describe_rules
from applyviz.workflow.policies import POLICY_RISKS, Demand
from applyviz.workflow.policies.owners import OwnerOf, OwnerRule
from applyviz.workflow.policies.rules import OnFailure, RiskDemand, Rules
from applyviz.workflow.policies.windows import Freeze, Window
from tests.builders import grant_role, make_policy


def test_demand_names_its_cause_in_brackets():
    risk = next(iter(POLICY_RISKS))
    causes = ("policy prod", "file deploy/**", risk.slug, "")

    found = [describe_demand(Demand(3, "ops", because)) for because in causes]

    assert found == [
        "3 approvals of team ops (policy prod)",
        "3 approvals of team ops (file deploy/**)",
        f"3 approvals of team ops (risk: {title_kind(risk)})",
        "3 approvals of team ops",
    ]


BEFORE = Rules(waits_for_rollout=True)
OTHERS: dict[str, object] = {
    "asking_teams": ("ops",),
    "approvals": 3,
    "approving_team": "ops",
    "for_risks": (RiskDemand(next(iter(POLICY_RISKS)), 2),),
    "owners": (OwnerRule(OwnerOf.KIND, "core/Secret", "ops"),),
    "many_objects": 7,
    "windows": (Window((0, 1), "09:00", "17:00"),),
    "freezes": (Freeze("2026-12-20T18:00", "2027-01-04T08:00"),),
    "approval_hours": 5,
    "refuses_sole": True,
    "allows_unknown_editors": True,
    "allows_tokens": True,
    "may_run_estimated": False,
    "may_run_unknown": True,
    "on_failure": OnFailure.CONTINUE,
    "concurrency": 9,
    "waits_for_rollout": False,
    "rollout_seconds": 60,
    "replaced_kinds": ("batch/Job",),
    "replace_annotation": "example.com/replace",
    "kept_kinds": ("core/Namespace",),
    "most_deletions": 4,
    "most_pruned_percent": 20,
    "critical_kinds": ("core/Secret",),
}


def test_every_rule_is_tried():
    assert OTHERS.keys() == {field.name for field in fields(Rules)}


@pytest.mark.parametrize("name", OTHERS)
def test_each_rule_changes_a_line(name):
    after = replace(BEFORE, **{name: OTHERS[name]})

    assert describe_rules(after) != describe_rules(BEFORE)


@pytest.mark.django_db
def test_versions_name_what_changed_in_words(client, django_user_model):
    person = django_user_model.objects.create_user("dana")
    grant_role(person, Role.ADMINISTRATOR)
    client.force_login(person)
    make_policy("prod", approvals=1)
    make_policy("prod", approvals=2, kept_kinds=("core/Namespace",))

    shown = client.get(reverse("settings:show-policy", args=["prod"]))

    assert [row.changes for row in shown.context["versions"]] == [
        (("Approvals", "1 approval", "2 approvals"), ("Never deletes", "none", "core/Namespace")),
        (),
    ]
