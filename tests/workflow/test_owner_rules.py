"""Owners of kinds and files: which plans need their approvals, and which approvals those are."""

from __future__ import annotations

import pytest

from applyviz import moments
from applyviz.engine.requests.options import ApplyMode, Prune, PruneMode
from applyviz.records.enums import Role
from applyviz.workflow import policies
from applyviz.workflow.approvals import approving, quorum
from applyviz.workflow.foundation import plan_rows, sentences
from applyviz.workflow.foundation.errors import NotValidError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.people import teams
from applyviz.workflow.policies import editing
from applyviz.workflow.policies.owners import OwnedObject, OwnerOf, OwnerRule, list_written, owns, parse_owner
from applyviz.workflow.policies.rules import Rules
from tests.builders import make_person, make_plan_row, make_policy
from tests.stories import Team, config_map, secret

PRUNE = {"prune": Prune(PruneMode.ALLOWLIST, ("core/v1/ConfigMap",), is_all=True), "mode": ApplyMode.CLIENT}
SECURITY = OwnerRule(OwnerOf.KIND, "core/Secret", "security")
PAYMENTS = OwnerRule(OwnerOf.FILE, "deploy/payments/", "payments", 2)


@pytest.mark.parametrize(
    ("pattern", "kind", "expected"),
    [
        ("core/Secret", "core/Secret", True),
        ("core/Secret", "core/SecretStore", False),
        ("*/Secret", "example.com/Secret", True),
        ("rbac.authorization.k8s.io/*", "rbac.authorization.k8s.io/Role", True),
        ("rbac.authorization.k8s.io/*", "apps/Deployment", False),
        ("*", "apps/Deployment", True),
    ],
)
def test_kind_has_the_owners_whose_pattern_it_fits(pattern, kind, expected):
    assert owns(OwnerRule(OwnerOf.KIND, pattern, "a"), OwnedObject(kind, "app.yaml")) is expected


@pytest.mark.parametrize(
    ("pattern", "file", "expected"),
    [
        ("app.yaml", "app.yaml", True),
        ("app.yaml", "deploy/app.yaml", False),
        ("**/app.yaml", "app.yaml", True),
        ("**/app.yaml", "deploy/eu/app.yaml", True),
        ("deploy/", "deploy/eu/app.yaml", True),
        ("deploy/", "deploy.yaml", False),
        ("deploy/", "other/deploy/app.yaml", False),
        ("deploy/*/app.yaml", "deploy/eu/app.yaml", True),
        ("deploy/*/app.yaml", "deploy/eu/west/app.yaml", False),
        ("deploy/**/app-?.yaml", "deploy/eu/west/app-1.yaml", True),
        ("deploy/**/eu/**", "deploy/a/b/eu/c.yaml", True),
        ("deploy/**/eu/**", "deploy/a/b/us/c.yaml", False),
        ("**", "app.yaml", True),
        ("**", "", False),
    ],
)
def test_file_has_the_owners_whose_pattern_it_fits(pattern, file, expected):
    assert owns(OwnerRule(OwnerOf.FILE, pattern, "a"), OwnedObject("core/ConfigMap", file)) is expected


@pytest.mark.parametrize("text", ["kind:core/Secret security 1", "file:deploy/**/x.yaml payments 3"])
def test_rule_is_read_as_it_is_written(text):
    assert str(parse_owner(text)) == text


def test_one_approval_is_needed_where_a_rule_names_no_number():
    assert parse_owner("  kind:*  security ") == OwnerRule(OwnerOf.KIND, "*", "security", 1)


@pytest.mark.parametrize(
    "text", ["core/Secret security", "kind: security", "kind:core/Secret", "path:a b", "kind:a b c"]
)
def test_line_that_is_no_rule_is_refused(text):
    with pytest.raises(ValueError, match="expected a kind or a file and a team"):
        parse_owner(text)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (OwnerRule(OwnerOf.KIND, "Secret", "sre"), "kind:Secret sre 1: not a pattern of kinds or files"),
        (OwnerRule(OwnerOf.FILE, "/deploy/", "sre"), "file:/deploy/ sre 1: not a pattern of kinds or files"),
        (OwnerRule(OwnerOf.FILE, "a" * 201, "sre"), "not a pattern of kinds or files"),
        (OwnerRule(OwnerOf.KIND, "core/Secret", "nobody"), "team nobody not found"),
        (
            OwnerRule(OwnerOf.KIND, "core/Secret", "sre", 10),
            "approvals of owners: kind:core/Secret sre 10: from 1 to 9",
        ),
        (OwnerRule(OwnerOf.KIND, "core/Secret", "sre", 0), "approvals of owners: kind:core/Secret sre 0: from 1 to 9"),
    ],
)
def test_rule_that_can_never_be_met_is_not_published(rule, problem):
    dana = make_person("dana", Role.ADMINISTRATOR)
    teams.create_team(by=dana, slug="sre", name="SRE")

    with pytest.raises(NotValidError) as found:
        editing.save_policy("owned", by=dana, scope=Scope(), rules=Rules(owners=(rule,)))

    assert problem in str(found.value)


@pytest.mark.django_db
def test_approval_of_the_owner_is_needed_for_what_it_owns():
    bob, sue = make_person("bob", Role.APPROVER), make_person("sue", Role.APPROVER)
    dana = make_person("dana", Role.ADMINISTRATOR)
    teams.add_member(teams.create_team(by=dana, slug="security", name="Security"), sue, by=dana)
    make_policy(owners=(SECURITY,))
    plan = make_plan_row(make_person("alice"), policy_version="strict@1", kind="Secret")
    calm = make_plan_row(make_person("ann"), policy_version="strict@1")

    approving.approve_plan(plan, by=bob, digest=plan.digest)

    assert sentences.describe_all(quorum.count_quorum(plan).lacking) == ("1 approval from team security missing",)
    assert [need.demand.team for need in quorum.count_quorum(calm).needs] == [""]
    approving.approve_plan(plan, by=sue, digest=plan.digest)
    assert quorum.count_quorum(plan).missing == 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"file": "deploy/payments/eu/app.yaml"}, [("payments", 2, "file deploy/payments/")]),
        ({"file": "deploy/shop/app.yaml"}, []),
        ({"file": "deploy/payments/app.yaml", "operation": "error", "has_effect": False}, []),
        ({"file": "deploy/payments/app.yaml", "operation": "left-out"}, []),
        (
            {"file": "deploy/payments/app.yaml", "kind": "Secret"},
            [("payments", 2, "file deploy/payments/"), ("security", 1, "kind core/Secret")],
        ),
    ],
)
def test_only_what_is_written_has_owners(values, expected):
    make_policy(owners=(SECURITY, PAYMENTS))
    plan = make_plan_row(make_person("alice"), policy_version="strict@1", **values)

    found = policies.find_demands(plan, policies.find_policy(plan))

    assert [(one.team, one.approvals, one.because) for one in found if one.team] == expected


@pytest.mark.django_db
def test_stored_plan_names_the_files_of_what_it_writes(monkeypatch):
    team = Team().wire_up(monkeypatch)
    team.apply(config_map("a", x="1"), secret(password="x"), **PRUNE)

    plan = team.plan(config_map("b", x="1"), secret(password="x"), **PRUNE)

    named = {(one.kind, bool(one.file)) for one in list_written(plan)}
    assert named == {("core/ConfigMap", True), ("core/ConfigMap", False), ("core/Secret", True)}


@pytest.mark.django_db
def test_page_and_database_name_the_same_owners(monkeypatch):
    team = Team().wire_up(monkeypatch)
    plan = team.plan(config_map("a", x="1"), secret(password="x"))
    asked = list_written(plan)

    with moments.at_one_moment():
        plan_rows.read_rows(plan)
        read = list_written(plan)

    assert asked == read
