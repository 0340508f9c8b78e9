"""The seal of a plan: it fits what was completed, nothing else, and spares a run the deriving of every change."""

from datetime import UTC, datetime

import pytest
from django.db import models

from applyviz.records import triggers
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, ObjectChange, Plan
from applyviz.records.sealing import Sealed
from applyviz.workflow.plans import plan_mac
from applyviz.workflow.runs import plan_integrity
from tests.shared_stories import share_story
from tests.stories import config_map

pytestmark = pytest.mark.django_db
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData: {token: hunter2hunter2}\n"
COLUMNS = [f.name for f in ObjectChange._meta.concrete_fields if f.name not in ("id", "plan")]
BOUND = ["digest", "digest_key_id", "options", "decisions", "policy_version", "policy_digest", "cluster_uid", "tag_key"]


# Its reference to a missing ConfigMap is a risk that is found when the whole set is planned.
MOUNTING = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example/web:1
        env: [{name: DB_PASSWORD, value: canary-2c9d}]
        envFrom: [{configMapRef: {name: absent}}]
"""


def play(team):
    team.plan(config_map("b", a="1"), SECRET, config_map("a", a="1"))


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker):
    yield from share_story(django_db_blocker, play)


@pytest.fixture
def team(played, db, monkeypatch):
    return played.go_on(monkeypatch)


@pytest.fixture
def plan(team):
    return Plan.objects.get()


def is_sealed(plan):
    plan = Plan.objects.get(pk=plan.pk)
    return plan_mac.fits(plan, [(row, plan_mac.ContentDigest.of(row)) for row in plan.changes.order_by("position")])


def flip(row, name):
    """Another value for a column, of the same type, past all triggers."""
    field, value = row._meta.get_field(name), getattr(row, name)
    if isinstance(value, Sealed):
        other = value.resealed()
    elif isinstance(field, models.JSONField):
        other = {**value, "x": 1} if isinstance(value, dict) else [*value, "x"]
    elif isinstance(value, bool):
        other = not value
    elif isinstance(value, int):
        other = value + 7
    else:
        other = f"{value}x"
    triggers.lift("default")
    type(row).objects.filter(pk=row.pk).update(**{name: other})
    triggers.install("default")


def forbid(monkeypatch):
    """No sealed change may be derived anew; whoever tries is told of."""
    tried = []
    monkeypatch.setattr(plan_integrity, "_derive_again", lambda *_: tried.append(1) or "derived anew")
    return tried


def test_complete_plan_is_sealed_and_its_run_derives_nothing_anew(team, plan, monkeypatch):
    assert is_sealed(plan)
    tried = forbid(monkeypatch)

    run = team.work(team.start(plan))

    assert (run.state, tried) == (RunState.APPLIED, [])


@pytest.mark.core(5)
@pytest.mark.parametrize("name", COLUMNS)
def test_seal_fits_no_other_change(plan, name):
    flip(plan.changes.order_by("position")[1], name)

    assert not is_sealed(plan)


@pytest.mark.parametrize("name", BOUND)
def test_seal_fits_no_other_plan(plan, name):
    flip(plan, name)

    assert not is_sealed(plan)


@pytest.mark.parametrize("which", ["gone", "added"])
def test_seal_fits_no_other_number_of_changes(plan, which):
    row = plan.changes.order_by("position")[2]
    triggers.lift("default")
    if which == "gone":
        ObjectChange.objects.filter(pk=row.pk).delete()
    else:
        row.pk, row.position = None, 9
        row.save(force_insert=True)
    triggers.install("default")

    assert not is_sealed(plan)


def test_seal_of_another_plan_or_key_does_not_fit(team, plan, settings):
    other = team.plan(config_map("b", a="2"))
    triggers.lift("default")
    Plan.objects.filter(pk=plan.pk).update(seal=other.seal)
    triggers.install("default")
    assert not is_sealed(plan)
    assert is_sealed(other)

    settings.APPLYVIZ_DIGEST_KEY = "another-key-of-another-installation-0123456789"
    assert not is_sealed(other)


@pytest.mark.core(1)
@pytest.mark.parametrize("kept", ["", "7", "ü" * 64])
def test_plan_without_a_seal_is_derived_anew_and_runs(team, plan, kept):
    run = team.start(plan)
    triggers.lift("default")
    Plan.objects.filter(pk=plan.pk).update(seal=kept)
    triggers.install("default")
    assert not is_sealed(plan)

    assert team.work(ApplyRun.objects.get(pk=run.pk)).state == RunState.APPLIED


def _take_risks_away(row):
    return {"found_risks": [], "risks": 0, "highest_risk": "", "risk_levels": []}


def _change_level(row):
    risks = [{**risk, "level": "info"} for risk in row.found_risks]
    levels = [[kind, "info"] for kind, _level in row.risk_levels]
    return {"found_risks": risks, "highest_risk": "info", "risk_levels": levels}


def _damage_risks(row):
    return {"found_risks": [7]}


@pytest.mark.core(1)
@pytest.mark.parametrize("change", [_take_risks_away, _change_level, _damage_risks])
@pytest.mark.parametrize("seal", [None, "kept"])
def test_plan_whose_risks_were_changed_writes_nothing(team, change, seal):
    plan = team.plan(MOUNTING, config_map(a="1"))
    run = team.start(plan)
    row = plan.changes.get(kind="Deployment")
    assert row.highest_risk
    triggers.lift("default")
    ObjectChange.objects.filter(pk=row.pk).update(**change(row))
    if seal is None:
        Plan.objects.filter(pk=plan.pk).update(seal="")
    triggers.install("default")

    run = team.work(ApplyRun.objects.get(pk=run.pk))

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert "its risks" in run.error


@pytest.mark.core(1)
@pytest.mark.parametrize("kept", ["", "0" * 64])
def test_plan_without_a_seal_of_its_risks_is_not_derived_anew(team, kept):
    plan = team.plan(MOUNTING, config_map(a="1"))
    other = team.plan(MOUNTING, config_map(a="1"))
    rows = list(plan.changes.order_by("position"))
    plan.risk_seal = kept
    assert plan_integrity._derive_again(plan, rows) == "its risks"

    plan.risk_seal = other.risk_seal
    assert plan_integrity._derive_again(plan, rows) == "its risks"


@pytest.mark.long
def test_plan_with_risks_runs_after_its_content_was_encrypted_again(team):
    plan = team.plan(MOUNTING, config_map(a="1"))
    run = team.start(plan)
    triggers.lift("default")
    for row in plan.changes.all():
        ObjectChange.objects.filter(pk=row.pk).update(sealed=row.sealed.resealed())
    triggers.install("default")
    assert not is_sealed(plan)

    assert team.work(ApplyRun.objects.get(pk=run.pk)).state == RunState.APPLIED


def test_changed_plan_that_lost_its_seal_writes_nothing(team, plan):
    run = team.start(plan)
    flip(plan.changes.order_by("position")[0], "document")
    triggers.lift("default")
    Plan.objects.filter(pk=plan.pk).update(seal="", risk_seal="", completed_at=datetime(2026, 1, 1, tzinfo=UTC))
    triggers.install("default")

    run = team.work(ApplyRun.objects.get(pk=run.pk))

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert "what was shown of it" in run.error


def test_run_that_lost_an_object_writes_nothing(team, plan):
    run = team.start(plan)
    run.results.filter(change=plan.changes.order_by("position")[1]).delete()

    run = team.work(ApplyRun.objects.get(pk=run.pk))

    assert (run.state, team.wire.writes) == (RunState.FAILED, [])
    assert "its objects" in run.error


def test_rows_with_risks_of_the_whole_set_are_what_their_content_says(team):
    plan = team.plan(MOUNTING, config_map(a="1"))
    rows = list(plan.changes.order_by("position"))

    (risky,) = (row for row in rows if row.kind == "Deployment")
    assert "canary-2c9d" not in str(risky.document) + str(risky.found_risks)
    assert risky.risks == len(risky.found_risks) > 0
    assert plan_integrity._derive_again(plan, rows) == ""
    assert is_sealed(plan)


def test_run_reads_itself_and_its_plan_once_however_many_objects(team, django_assert_max_num_queries):
    counts = []
    for number in (2, 8):
        run = team.start(team.plan(*(config_map(f"of-{number}-{n}", a=str(number)) for n in range(number))))
        with django_assert_max_num_queries(1000) as asked:
            team.work(run)
        counts.append(sum('FROM "records_plan"' in query["sql"] for query in asked.captured_queries))

    assert counts[0] == counts[1] > 0
