"""A planner forgets the content of stored rows, and reads none of it back."""

from __future__ import annotations

import pytest

from applyviz.records import triggers
from applyviz.records.models import ObjectChange
from applyviz.records.sealing import Sealed, Unsealed
from applyviz.workflow.plans import changes, plan_mac, plan_rows
from tests.stories import config_map
from tests.workflow.test_plan_mac import MOUNTING

pytestmark = pytest.mark.django_db


@pytest.fixture
def kept(monkeypatch):
    """The rows of every plan that is made, as the planner keeps them."""
    found = []
    original = plan_rows.PlanRows.make_seal
    monkeypatch.setattr(plan_rows.PlanRows, "make_seal", lambda rows: found.append(rows) or original(rows))
    return found


def read(plan):
    return list(plan.changes.order_by("position"))


def has_mac(plan):
    return plan_mac.fits(plan, [(row, plan_mac.ContentDigest.of(row)) for row in read(plan)])


def test_no_content_stays_in_memory(team, kept):
    plan = team.plan(MOUNTING, config_map("a", a="1"))

    [rows] = kept
    assert [row.document for row in rows.rows] == [{}, {}]
    assert {row.sealed for row in rows.rows} == {Sealed(b"")}
    assert has_mac(plan)
    assert any(row.risks for row in read(plan))


def forge_after_storing(monkeypatch, column):
    """Somebody changes the rows of a plan as soon as they are stored."""
    original = plan_rows.PlanRows.store

    def store(rows, renew):
        is_stored = original(rows, renew)
        forged = {
            "document": {"format": 1, "error": "forged"},
            "found_risks": [{"kind": "forged"}],
            "sealed": Unsealed.of_json({"forged": True}).seal(""),
        }
        triggers.lift("default")
        ObjectChange.objects.filter(pk__in=[row.pk for row in rows.rows]).update(**{column: forged[column]})
        triggers.install("default")
        return is_stored

    monkeypatch.setattr(plan_rows.PlanRows, "store", store)


@pytest.mark.parametrize("column", ["document", "sealed"])
def test_content_that_somebody_changed_meanwhile_is_never_sent(team, monkeypatch, column):
    forge_after_storing(monkeypatch, column)
    plan = team.plan(MOUNTING)
    monkeypatch.undo()
    team.wire_up(monkeypatch)

    run = team.work(team.start(plan))

    assert (has_mac(plan), run.state, team.wire.writes) == (False, "failed", [])


def test_risks_that_somebody_changed_meanwhile_are_written_again(team, monkeypatch):
    honest = team.plan(MOUNTING)
    forge_after_storing(monkeypatch, "found_risks")
    plan = team.plan(MOUNTING)

    assert has_mac(plan)
    [row], [expected] = read(plan), read(honest)
    assert changes.read_masked(row).risks == changes.read_masked(expected).risks


def test_document_is_stored_once_though_the_whole_set_has_more_risks(team, monkeypatch):
    updated = []
    monkeypatch.setattr(plan_rows, "update_rows", lambda rows, names: updated.append((len(rows), names)))

    team.plan(MOUNTING, config_map("a", a="1"))

    assert updated == [(1, ("found_risks", "risks", "highest_risk", "risk_levels"))]


def test_risk_of_the_whole_set_leaves_the_sealed_change_as_it_was_stored(team, monkeypatch):
    stored = {}
    original = plan_rows.PlanRows.store

    def store(rows, renew):
        fresh = {row.effect: row.sealed.token for row in rows.rows if row.sealed.token}
        stored.update(fresh)
        return original(rows, renew)

    monkeypatch.setattr(plan_rows.PlanRows, "store", store)
    plan = team.plan(MOUNTING, config_map("a", a="1"))

    assert {row.effect: row.sealed.token for row in read(plan)} == stored
    assert [len(changes.read_masked(row).risks) == row.risks for row in read(plan)] == [True, True]
    assert [changes.open_sealed(row).risks for row in read(plan)] == [(), ()]
