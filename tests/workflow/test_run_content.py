"""The content of the changes of a run: in memory only while it is used, and the same that was checked."""

from __future__ import annotations

import pytest
import yaml

from applyviz.records import triggers
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, ObjectChange
from applyviz.records.sealing import Unsealed
from applyviz.workflow.plans import changes
from applyviz.workflow.runs import execute, run_content
from applyviz.workflow.runs.run_content import ContentChangedError, RunContent
from tests.memory import Memory, many, start, wire_up
from tests.stories import Team

pytestmark = pytest.mark.django_db


@pytest.fixture
def memory():
    return Memory()


@pytest.fixture
def team(memory, monkeypatch):
    return wire_up(Team(), memory, monkeypatch)


def count_held(content: RunContent) -> int:
    return sum(bool(result.change.sealed.token) for result in content.results)


def forge(column: str, value: object) -> None:
    """Change a column of every change past the triggers of the database."""
    triggers.lift("default")
    ObjectChange.objects.update(**{column: value})
    triggers.install("default")


def test_content_is_forgotten_and_read_again(team):
    run = start(team, *many(3))
    content = RunContent(run)
    assert count_held(content) == 0

    first = next(content.each(content.results))
    assert (count_held(content), changes.read_masked(first.change).ref.name) == (3, "object-00")

    content.forget(first)
    assert count_held(content) == 2
    assert list(content.each_change()) == [result.change for result in content.results]
    assert count_held(content) == 0


def test_what_is_sent_and_what_is_shown_is_one_change_where_nothing_is_masked(team):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"password": "hunter2"}}
    run = start(team, *many(1), yaml.safe_dump(secret))
    rows = {change.kind: change for change in ObjectChange.objects.filter(plan=run.plan)}

    sent, shown = changes.open_cores(rows["ConfigMap"])
    assert sent is shown
    assert sent == changes.open_sealed_core(rows["ConfigMap"]) == changes.read_masked_core(rows["ConfigMap"])

    sent, shown = changes.open_cores(rows["Secret"])
    assert (sent, shown) == (changes.open_sealed_core(rows["Secret"]), changes.read_masked_core(rows["Secret"]))
    assert ("hunter2" in str(sent), "hunter2" in str(shown)) == (True, False)


@pytest.mark.parametrize("column", ["document", "sealed"])
def test_content_that_changed_after_the_check_is_refused(team, column):
    content = RunContent(start(team, *many(1)))
    forge(column, {"format": 1} if column == "document" else Unsealed.of_json({"forged": True}).seal(""))

    with pytest.raises(ContentChangedError, match=r"ConfigMap default/object-00 was altered"):
        content.load(content.results)


def test_run_holds_no_more_content_than_it_works_on(team, memory, monkeypatch):
    monkeypatch.setattr(run_content, "TOGETHER", 4)
    found: list[RunContent] = []
    monkeypatch.setattr(execute, "RunContent", lambda run: found.append(RunContent(run)) or found[0])
    held: list[int] = []
    memory.after = lambda request: held.append(count_held(found[0]))

    run = team.work(start(team, *many(24)))

    assert run.state == RunState.APPLIED
    assert max(held) <= 2 * 4 + 4  # those that were read together, those in progress, those that just ended
    assert count_held(found[0]) == 0


def test_run_stops_when_somebody_changes_a_stored_change_while_it_writes(team, memory, monkeypatch):
    monkeypatch.setattr(run_content, "TOGETHER", 4)
    load = RunContent.load

    def load_late(content: RunContent, results: list) -> None:
        if memory.sent:
            forge("sealed", Unsealed.of_json({"forged": True}).seal(""))
        load(content, results)

    monkeypatch.setattr(RunContent, "load", load_late)

    run = team.work(start(team, *many(12)))

    assert run.state == RunState.FAILED
    assert run.error.startswith("the stored change of ConfigMap default/object-")
    assert len(memory.sent) < 12
    assert ApplyRun.objects.get().results.filter(outcome="not-attempted").exists()
