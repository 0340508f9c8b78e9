"""Evidence for a period: everything that happened, with roles as they were, and what nobody did."""

import csv
import io
import json
from datetime import date, timedelta
from itertools import chain

import pytest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from applyviz.clusters.sandbox import SandboxTransport
from applyviz.engine.objects.exchange import Answer
from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import AuditAction, Role
from applyviz.records.models import ApplyRun, AuditEntry, Policy, PolicyVersion
from applyviz.workflow.audit import retention, trail
from applyviz.workflow.evidence import report
from applyviz.workflow.evidence.history import ExportFormat
from applyviz.workflow.evidence.report import EvidenceSection, Period
from applyviz.workflow.foundation.errors import NotAllowedError, NotValidError
from applyviz.workflow.foundation.grant_scopes import Scope
from applyviz.workflow.live import scans
from applyviz.workflow.policies import Rules, editing, rules_to_json
from applyviz.workflow.policies.windows import Window
from applyviz.workflow.runs import emergency_apply
from tests.builders import grant_role, make_person, take_roles
from tests.stories import SETTINGS, Team, config_map, secret


@pytest.fixture
def team(db, monkeypatch):
    return Team().wire_up(monkeypatch)


@pytest.fixture
def auditor(db):
    return make_person("audrey", Role.AUDITOR)


@pytest.fixture
def today():
    now = timezone.localdate()
    return Period(now - timedelta(days=1), now + timedelta(days=1))


def read(section, period, person):
    return list(report.read_section(section, period, for_user=person))


def test_approval_has_the_roles_of_that_moment(team, auditor, today):
    team.apply(config_map(a="1"))
    take_roles(team.bob)
    grant_role(team.bob, Role.VIEWER)

    [given] = read(EvidenceSection.APPROVALS, today, auditor)

    assert (given.who, given.roles, given.review, given.plan, bool(given.plan_digest)) == (
        "bob",
        "approver",
        1,
        1,
        True,
    )


@pytest.mark.long
def test_role_of_some_places_is_named_with_them(team, auditor, today):
    take_roles(team.bob)
    grant_role(team.bob, Role.APPROVER, cluster="box", namespace="*")
    team.apply(config_map(a="1"))

    assert read(EvidenceSection.APPROVALS, today, auditor)[0].roles in ("approver@box/*", "approver@box/* ")


def test_reviews_and_runs_of_the_period_and_of_no_other(team, auditor, today):
    team.apply(config_map(a="1"))
    long_ago = Period(date(2020, 1, 1), date(2020, 1, 31))

    assert [(f.what, f.who) for f in read(EvidenceSection.REVIEWS, today, auditor)] == [("review.created", "alice")]
    assert [f.what for f in read(EvidenceSection.RUNS, today, auditor)] == ["run.started", "run.finished"]
    assert report.count_section(EvidenceSection.RUNS, today, for_user=auditor) == 1  # two entries of one run
    assert [read(section, long_ago, auditor) for section in EvidenceSection] == [[] for _section in EvidenceSection]


@pytest.mark.long
def test_cluster_narrows_what_belongs_to_one(team, auditor, today):
    team.apply(config_map(a="1"))
    other = Period(today.since, today.until, "other")

    assert read(EvidenceSection.REVIEWS, other, auditor) == []
    assert len(read(EvidenceSection.REVIEWS, Period(today.since, today.until, "box"), auditor)) == 1


def test_emergency_apply_is_an_exception_with_its_reason(team, auditor, today):
    hasty = make_person("hank", Role.AUTHOR, Role.BREAK_GLASS)
    plan = team.plan(config_map(a="1"))
    emergency_apply.start_emergency_apply(plan, by=hasty, digest=plan.digest, reason="the shop is down", ticket="OPS-1")

    [broken] = read(EvidenceSection.EMERGENCY_APPLIES, today, auditor)

    assert (broken.who, "the shop is down" in broken.summary, "OPS-1" in broken.summary) == ("hank", True, True)


def test_edits_of_policies_rules_and_retention_are_exceptions(team, auditor, today):
    boss = make_person("dana", Role.ADMINISTRATOR)
    editing.save_policy("prod", by=boss, scope=Scope("prod-*"), rules=Rules(approvals=2), note="two from now on")
    retention.add_policy(name="a month", days=30, has_requests=False, by=boss)
    box = trail.AuditSubject(cluster="box")
    trail.record(AuditAction.RULE_AGREED, by=team.bob, about=box, detail={"reason": "the file wins"})

    found = read(EvidenceSection.POLICIES, today, auditor)

    assert [(f.what, f.who, f.roles) for f in found] == [
        ("policy.changed", "dana", "administrator"),
        ("retention.changed", "dana", "administrator"),
        ("rule.agreed", "bob", "approver"),
    ]
    assert [
        "two from now on" in found[0].summary,
        "a month" in found[1].summary,
        "the file wins" in found[2].summary,
    ] == [True] * 3
    assert EvidenceSection.POLICIES in report.EXCEPTIONS


# What is no part of evidence: how reviews were talked about, what each object's run did, who signed in, what fills a
# form, which pushes came, and what belongs to what is there already.
LEFT_OUT = {
    *("plan.requested", "plan.completed", "plan.failed", "conflict.resolved", "resolution.undone", "risk.acknowledged"),
    *("risk.acknowledgment_withdrawn", "rule.proposed", "rule.declined", "comment.added", "comment.edited"),
    *("comment.resolved", "comment.reopened", "run.claimed", "object.intent", "person.signed_in"),
    *("person.sign_in_failed", "person.sign_in_refused", "person.reauthenticated", "live.verified", "history.exported"),
    *("person.reauthentication_failed", "session.ended", "file.compared"),
    *("history.anchored", "history.published", "live.changed", "live.drifted"),
    *("preset.changed", "push.received", "commit.unchanged", "following.failed"),
}


def test_every_kind_of_entry_is_in_evidence_or_left_out_by_name():
    held = set(chain.from_iterable(report.ACTIONS.values()))

    assert {action.value for action in AuditAction if action not in held} == LEFT_OUT


def test_live_change_that_no_run_explains_is_evidence(team, auditor, today):
    team.apply(config_map(a="1"))
    team.edit(SETTINGS, {"data": {"a": "changed"}})
    scans.scan_cluster(scans.request_scan(team.cluster, by=None).pk)

    found = [f for f in read(EvidenceSection.UNREVIEWED, today, auditor) if f.what == "changed"]

    assert [(f.field_manager, f.object, f.summary) for f in found] == [
        ("kubectl-edit (Update)", "ConfigMap default/settings", ".data.a")
    ]
    [entry] = [e for e in team.live(SETTINGS)["metadata"]["managedFields"] if e["manager"] == "kubectl-edit"]
    assert found[0].at == parse_datetime(entry["time"])


def shut_now(offset=timedelta(0)):
    """A policy whose window opens tomorrow only; made before every run."""
    tomorrow = (timezone.now() + timedelta(days=2)).weekday()
    rules = Rules(windows=(Window((tomorrow,), "00:00", "00:01"),))
    policy = Policy.objects.create(slug="nights", number=1)
    return PolicyVersion.objects.create(
        policy=policy,
        number=1,
        rules=rules_to_json(rules),
        created_at=timezone.now() - timedelta(days=1) + offset,
    )


def test_run_outside_its_window_is_late(team, auditor, today):
    run = team.apply(config_map(a="1"))
    shut_now()

    [late] = read(EvidenceSection.LATE, today, auditor)

    assert (late.run, late.what, bool(late.summary)) == (
        run.number,
        "started outside the change window",
        True,
    )


@pytest.mark.long
def test_window_that_came_later_makes_no_run_late(team, auditor, today):
    team.apply(config_map(a="1"))
    shut_now(timedelta(days=2))

    assert read(EvidenceSection.LATE, today, auditor) == []


@pytest.mark.long
def test_run_that_went_on_after_its_window_is_late(team, auditor, today):
    run = team.apply(config_map(a="1"))
    start = run.started_at
    rules = Rules(windows=(Window((start.weekday(),), "00:00", "23:59"),))
    policy = Policy.objects.create(slug="days", number=1)
    PolicyVersion.objects.create(
        policy=policy, number=1, rules=rules_to_json(rules), created_at=start - timedelta(days=3)
    )
    ApplyRun.objects.filter(pk=run.pk).update(finished_at=start + timedelta(days=1))

    assert [f.what for f in read(EvidenceSection.LATE, today, auditor)] == ["continued outside the change window"]


def test_export_is_told_and_holds_every_section(team, auditor, today):
    team.apply(config_map(a="1"))
    hostile = config_map(a="1")
    team.edit(SETTINGS, {"data": {"a": hostile}}, manager="=cmd")
    scans.scan_cluster(scans.request_scan(team.cluster, by=None).pk)

    lines = [json.loads(line) for line in report.export_for(auditor, today, ExportFormat.JSONL)]
    rows = list(csv.DictReader(io.StringIO("".join(report.export_for(auditor, today, ExportFormat.CSV)), newline="")))

    assert {"reviews", "approvals", "runs", "unexplained"} <= {line.get("section") for line in lines}
    assert lines[0]["head"].partition(":")[0].isdigit()
    assert len(rows) == len(lines) - 1
    assert [row["who"] for row in rows if row["what"] == "changed"] == ["'=cmd"]
    told = AuditEntry.objects.filter(action=AuditAction.HISTORY_EXPORTED)
    assert [e.detail["form"] for e in told.order_by("id")] == ["evidence.jsonl", "evidence.csv"]


def test_evidence_is_for_who_may_audit(team, today):
    with pytest.raises(NotAllowedError):
        read(EvidenceSection.REVIEWS, today, team.alice)


def test_period_ends_after_it_began():
    with pytest.raises(NotValidError):
        Period(date(2026, 2, 1), date(2026, 1, 1))


def test_owners_are_verified_per_object_and_run(team, auditor, today):
    team.apply(config_map(a="1"), mode=ApplyMode.SERVER)

    [result] = read(EvidenceSection.CHANGED_OBJECTS, today, auditor)
    [finished] = [f for f in read(EvidenceSection.RUNS, today, auditor) if f.what == "run.finished"]

    assert (result.object, result.what, result.owners) == ("ConfigMap default/settings", "applied", "verified")
    assert "owners: verified (applyviz (Apply) " in result.summary
    assert ("outcomes: 1 applied" in finished.summary, "owners: 1 verified" in finished.summary) == (True, True)
    assert report.count_section(EvidenceSection.CHANGED_OBJECTS, today, for_user=auditor) == 1


def test_owners_that_are_not_as_promised_are_evidence(team, auditor, today, monkeypatch):
    send = SandboxTransport.send

    def lose_owner(transport, request):
        answer = send(transport, request)
        if not request.is_write or request.is_dry_run:
            return answer
        entries = [{**one, "fieldsV1": {"f:data": {}}} for one in answer.body["metadata"]["managedFields"]]
        return Answer(answer.status, {**answer.body, "metadata": {**answer.body["metadata"], "managedFields": entries}})

    monkeypatch.setattr(SandboxTransport, "send", lose_owner)

    team.apply(config_map(a="1"), mode=ApplyMode.SERVER)

    [result] = read(EvidenceSection.CHANGED_OBJECTS, today, auditor)
    [finished] = [f for f in read(EvidenceSection.RUNS, today, auditor) if f.what == "run.finished"]
    assert (result.what, result.owners) == ("applied-live-differs", "differ")
    assert "owners: 1 differ" in finished.summary


@pytest.mark.long
def test_exports_of_evidence_name_the_owners(team, auditor, today):
    team.apply(config_map(a="1"), mode=ApplyMode.SERVER)

    lines = [json.loads(line) for line in report.export_for(auditor, today, ExportFormat.JSONL)]
    rows = list(csv.DictReader(io.StringIO("".join(report.export_for(auditor, today, ExportFormat.CSV)), newline="")))

    for facts in (lines, rows):
        told = [(f["what"], f["owners"]) for f in facts if f.get("section") == "changed-objects"]
        assert told == [("applied", "verified")]


def test_result_of_a_secret_that_may_not_be_read_is_hidden(team, auditor, today):
    team.apply(secret(password="one"), mode=ApplyMode.SERVER)
    team.apply(secret(password="two"), mode=ApplyMode.SERVER)
    team.apply(secret(password="two"), config_map(a="1"), mode=ApplyMode.SERVER)

    written = read(EvidenceSection.CHANGED_OBJECTS, today, auditor)
    told = [(f.object, f.what, f.owners, "owners" in f.summary) for f in written]
    finished = [f.summary for f in read(EvidenceSection.RUNS, today, auditor) if f.what == "run.finished"]

    hidden = ("Secret default/login", "not-shown", "", False)
    assert sorted(told) == [("ConfigMap default/settings", "applied", "verified", True), hidden, hidden, hidden]
    assert ["owners" in one for one in finished] == [True, False, True]
