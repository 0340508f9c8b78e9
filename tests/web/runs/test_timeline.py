"""The timeline of a run, its failures and its list, as the page shows them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from applyviz import clock
from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects import paths
from applyviz.engine.planning.model.plan import Operation, PlannedObject, Versions
from applyviz.records.enums import Outcome, RunState
from applyviz.records.models import ApplyRun, JournalEntry, ObjectResult, RolloutSample
from applyviz.web.runs.pages.before_after import BeforeAfter, present_before_after, share_start
from applyviz.web.runs.pages.pod_lines import list_pod_lines
from applyviz.web.runs.pages.time_axis import TimeAxis, format_clock
from tests.web import reading
from tests.web.builders import LABEL, build_change
from tests.web.runs import scenes


@pytest.fixture
def scene(alice, bob):
    return scenes.make_scene(alice, bob, clock.now() - timedelta(seconds=108))


def picture(page):
    (found,) = [e for e in reading.find_all(page, "svg") if reading.attribute(e, "class") == "chart"]
    return found


def bars(page, css):
    found = [e for e in reading.find_all(page, "rect") if reading.attribute(e, "class") == css]
    return [tuple(reading.text_of(title) for title in reading.find_all(bar, "title")) for bar in found]


def test_outcomes_are_counted_and_failures_come_first(as_viewer, scene):
    page = reading.read(as_viewer, f"/runs/{scene.number}/")
    text = reading.text_of(page)
    counts = [reading.text_of(item) for item in reading.find_all(page, "li") if "tone-" in str(item.attributes)][:4]

    assert counts == ["18 verified", "2 rolling out", "1 failed", "2 not attempted"]
    assert "21 of 23 objects applied · 13 of 18 new pods ready · inventory was down for" in text
    assert "ImagePullBackOff · shop/payment:1.5.0 · container server · 2 pods" in text
    assert "2 old pods still serve." in text


def test_a_lane_is_drawn_per_step_and_a_row_per_workload(as_viewer, scene):
    page = reading.read(as_viewer, f"/runs/{scene.number}/")

    assert len(bars(page, "rq")) == 21
    assert (bars(page, "rbad"), len(bars(page, "ro")), len(bars(page, "rok"))) == ([("Deployment/payment",)], 2, 4)
    assert len(bars(page, "wait")) == 2
    assert [name.startswith("no pod ready for") for (name,) in bars(page, "down")] == [True]
    assert "0/2 · ImagePullBackOff" in reading.text_of(picture(page))
    assert "time stretched" in reading.text_of(picture(page))


def test_a_finished_run_has_no_now_and_says_what_nobody_watches_any_more(as_viewer, scene):
    before = as_viewer.get(f"/runs/{scene.number}/").content.decode()
    scenes.finish(scene, clock.now())
    page = reading.read(as_viewer, f"/runs/{scene.number}/")
    text = reading.text_of(page)

    assert 'class="now"' in before
    assert [e for e in reading.find_all(page, "line") if reading.attribute(e, "class") == "now"] == []
    assert "3/5 · no longer watched" in text
    assert "A workload did not become ready, so the run stopped." in text
    assert "2 objects were not attempted." in text


def test_what_a_finished_run_did_not_attempt_is_not_at_its_beginning(as_viewer, scene):
    scenes.finish(scene, clock.now())

    page = reading.read(as_viewer, f"/runs/{scene.number}/")

    words = [word for word in reading.find_all(picture(page), "text") if "not attempted" in reading.text_of(word)]
    assert [(reading.attribute(word, "x"), reading.attribute(word, "text-anchor")) for word in words] == [
        ("99.40%", "end"),
        ("99.40%", "end"),
    ]
    assert bars(page, "wait") == []


@pytest.mark.parametrize("ending", [RunState.FAILED, RunState.APPLYING])
def test_words_without_room_beside_the_bars_end_with_the_picture(as_viewer, scene, ending):
    """The requests of one step take the whole time, so there is room on neither side of its bars."""
    begin = clock.now() - timedelta(seconds=100)
    for n, result in enumerate(scene.results.order_by("position")):
        JournalEntry.objects.filter(result=result).update(sent_at=begin + timedelta(seconds=n), answered_at=None)
    scene.results.update(step=1, rollout="", outcome="applied")
    scene.results.filter(position__gt=9).update(outcome=Outcome.SKIPPED)
    scene.results.filter(position=9).update(outcome=Outcome.FAILED)
    ApplyRun.objects.update(state=ending, finished_at=begin + timedelta(seconds=30))

    page = reading.read(as_viewer, f"/runs/{scene.number}/")

    (words,) = [e for e in reading.find_all(picture(page), "text") if "not attempted" in reading.text_of(e)]
    assert [reading.attribute(words, name) for name in ("text-anchor", "x")] == ["end", "99.40%"]


@pytest.mark.long
def test_rows_of_workloads_are_limited_and_the_others_counted(as_viewer, alice, bob):
    many = tuple(f"web-{number}" for number in range(60))
    run = scenes.make_scene(alice, bob, clock.now() - timedelta(seconds=108), (("apps", "Deployment", many),))

    page = as_viewer.get(f"/runs/{run.number}/").content.decode()

    assert "40 more verified" in page
    assert "50 more objects" in page
    assert "more objects" not in as_viewer.get(f"/runs/{run.number}/?rows=all").content.decode()


@pytest.mark.long
def test_workloads_that_are_not_listed_are_counted_by_their_state(as_viewer, alice, bob):
    many = tuple(f"web-{number}" for number in range(60))
    run = scenes.make_scene(alice, bob, clock.now() - timedelta(seconds=108), (("apps", "Deployment", many),))
    left = [result.pk for result in run.results.order_by("-position")[:25]]
    ObjectResult.objects.filter(pk__in=left).update(outcome="not-attempted", rollout="", pods={})

    page = as_viewer.get(f"/runs/{run.number}/").content.decode()

    assert ("15 more verified" in page, "25 more not attempted" in page) == (True, True)


def test_secrets_that_a_reader_may_not_compare_are_in_no_picture(as_viewer, alice, bob):
    steps = (("", "ConfigMap", ("settings",)), ("", "Secret", ("keys",)))
    run = scenes.make_scene(alice, bob, clock.now() - timedelta(seconds=9), steps)

    page = reading.read(as_viewer, f"/runs/{run.number}/")
    requests = reading.read(as_viewer, f"/runs/{run.number}/requests/")

    assert bars(page, "rq") == [("ConfigMap/settings",)]
    assert "1 object not shown to you" in reading.text_of(page)
    assert ("settings" in reading.text_of(requests), "keys" in reading.text_of(requests)) == (True, False)
    assert "Requests 1" in reading.text_of(page)


def test_requests_are_listed_in_the_order_they_were_sent(as_viewer, scene):
    page = reading.read(as_viewer, f"/runs/{scene.number}/requests/")
    rows = [reading.text_of(row) for row in reading.find_all(page, "tr")[1:]]

    assert len(rows) == 21
    assert ["promotions" in rows[0], "inventory" in rows[-1]] == [True, True]


@pytest.mark.parametrize("user", ["as_viewer"])
def test_many_requests_come_in_pages(request, user, scene):
    browser = request.getfixturevalue(user)
    result = ObjectResult.objects.filter(run=scene, journal__isnull=False).first()
    entry = JournalEntry.objects.filter(result=result).first()
    for sequence in range(2, 103):
        entry.pk, entry.sequence = None, sequence
        entry.save(force_insert=True)

    first, second = (browser.get(f"/runs/{scene.number}/requests/?page={n}").content.decode() for n in (1, 2))

    assert ("Later requests" in first, "Earlier requests" in first) == (True, False)
    assert ("Later requests" in second, "Earlier requests" in second) == (False, True)


def test_a_new_sample_is_told_to_open_pages(scene):
    from applyviz.web.runs.pages.run_events import find_moves  # noqa: PLC0415 beside its only test

    before = find_moves(scene.pk, "")
    result = ObjectResult.objects.get(run=scene, change__kind="Deployment", change__name="orders")
    RolloutSample.objects.create(result=result, at=clock.now(), new=1, ready=1, wanted=2)
    after = find_moves(scene.pk, before.cursor)

    assert find_moves(scene.pk, after.cursor) is None


@pytest.mark.parametrize(
    ("pods", "lines"),
    [
        (
            {"unread": {"pods": 403}},
            ("Pod details need list pods. Grant this permission to the account that applies.",),
        ),
        ({"unread": {"pods": 0}}, ("The pods could not be listed (no answer).",)),
        (
            {"unread": {"events": 403}},
            ("Warnings about pods need list events. Grant this permission to the account that applies.",),
        ),
        ({"problems": [{"reason": "Unschedulable", "message": "no node"}]}, ("Unschedulable · 1 pod: no node",)),
        ({"new": 0, "ready": 1}, ("1 old pod still serves.",)),
        ({}, ()),
    ],
)
def test_what_is_known_of_pods_is_one_line_each(pods, lines):
    assert list_pod_lines(pods) == lines


def test_axis_is_broken_where_rollouts_take_much_longer_than_requests():
    broken, plain = TimeAxis.of([0.2, 1.0, 2.0], 180.0), TimeAxis.of([0.5, 1.0], 2.0)

    assert (broken.is_broken, plain.is_broken, plain.stretch) == (True, False, 1)
    assert broken.scale(0) == 0
    assert broken.scale(2.0) < broken.scale(3.0) < broken.scale(180.0)
    assert [tick.text for tick in broken.list_ticks()] == ["0 s", "1 s", "2 s", "1:00", "2:00", "3:00"]
    assert [tick.text for tick in plain.list_ticks()] == ["0.0 s", "0.5 s", "1.0 s", "1.5 s", "2.0 s"]


def test_axis_names_no_moment_beneath_the_present():
    axis = TimeAxis.of([0.2, 1.0, 2.0], 200.0)

    assert [tick.text for tick in axis.list_ticks(beside=178.0)] == ["0 s", "1 s", "2 s", "1:00", "2:00"]
    assert [tick.text for tick in axis.list_ticks(beside=150.0)][-2:] == ["2:00", "3:00"]


@pytest.mark.parametrize(
    ("seconds", "step", "text"),
    [(0.05, 0.01, "0.05 s"), (3, 1, "3 s"), (61, 1, "1:01"), (30, 60, "0:30"), (3725, 60, "1:02:05")],
)
def test_times_are_written_short(seconds, step, text):
    assert format_clock(seconds, step) == text


@pytest.mark.parametrize(
    ("before", "after", "parts"),
    [
        ("shop/payment:1.4.2", "shop/payment:1.5.0", ("shop/payment:", "1.4.2", "1.5.0")),
        ("6", "10", ("", "6", "10")),
        ("shop/web:1", "shop/web:1-a", ("shop/web:", "1", "1-a")),
    ],
)
def test_what_two_values_share_is_said_once(before, after, parts):
    assert share_start(before, after) == parts


def test_objects_that_come_or_go_say_so():
    change = build_change()
    created = PlannedObject(change.ref, Operation.CREATE, Versions(), fields=change.fields)

    assert present_before_after(PlannedObject(change.ref, Operation.PRUNE, Versions())) == BeforeAfter(is_gone=True)
    assert present_before_after(created).is_new
    assert present_before_after(PlannedObject(change.ref, Operation.UPDATE, Versions())) == BeforeAfter()


def test_name_of_a_field_keeps_its_dots():
    label = {"metadata": {"labels": {"app.kubernetes.io/version": "2"}}}
    reason = FieldReason(LABEL, FieldOperation.CHANGED, Reason.MANIFEST_SETS)
    versions = Versions(live={"metadata": {"labels": {"app.kubernetes.io/version": "1"}}}, after=label)
    change = PlannedObject(build_change().ref, Operation.UPDATE, versions, fields=(reason,))

    assert present_before_after(change).field == "app.kubernetes.io/version"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("color", "metadata.annotations.color"),
        ("addons.k8s.io/metrics-server.addons.k8s.io", "…metrics-server.addons.k8s.io"),
        ("a" * 40, f"…{'a' * 32}"),
    ],
)
def test_long_path_is_cut_at_its_beginning_and_says_so(name, shown):
    reason = FieldReason(paths.fields("metadata", "annotations", name), FieldOperation.CHANGED, Reason.MANIFEST_SETS)
    change = PlannedObject(build_change().ref, Operation.UPDATE, Versions(), fields=(reason,))

    assert present_before_after(change).field == shown
