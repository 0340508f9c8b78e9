"""Who owned which fields of an object over time, from what plans and runs read of it."""

from datetime import UTC, datetime, timedelta

import pytest

from applyviz.engine.requests.options import ApplyMode
from applyviz.records.enums import Role
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.live import ownership_history
from applyviz.workflow.live.ownership_history import FieldOwner, Observation, Source
from tests.builders import grant_role, make_person
from tests.shared_stories import share_story
from tests.stories import SETTINGS, config_map

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
CI, EDIT = FieldOwner("ci", "Apply"), FieldOwner("kubectl-edit", "Update")
KEY = ("", "ConfigMap", "default", "settings")


def entry(owner, at, *names):
    return {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {f"f:{name}": {} for name in names}},
        "time": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def reading(minute, *entries, source=Source.PLAN):
    found = None if entries == (None,) else list(entries)
    at = NOON + timedelta(minutes=minute)
    return Observation(at, source, found, 1, minute, 0, minute if source is Source.RUN else None)


def test_field_that_changed_hands_is_told_with_both_sides():
    before = reading(0, entry(CI, NOON, "a", "b"))
    after = reading(10, entry(CI, NOON, "a"), entry(EDIT, NOON + timedelta(minutes=4), "b", "c"))

    found = ownership_history.compute_owners([after, before])

    moment, first = found.moments
    assert [(h.path, h.before, h.after) for h in moment.handovers] == [
        (".data.b", (CI,), (EDIT,)),
        (".data.c", (), (EDIT,)),
    ]
    assert [(h.owner, h.fields, h.gained, h.lost) for h in moment.holdings] == [(CI, 1, 0, 1), (EDIT, 2, 2, 0)]
    assert (first.handovers, first.since, moment.since) == ((), None, NOON)


def test_moment_is_when_the_new_owner_wrote():
    written = NOON + timedelta(minutes=4)
    found = ownership_history.compute_owners([reading(0, entry(CI, NOON, "a")), reading(10, entry(EDIT, written, "a"))])

    assert found.moments[0].at == written


def test_moment_lies_between_both_readings_whatever_the_clock_of_the_server_says():
    early, late = NOON - timedelta(days=1), NOON + timedelta(days=1)
    for told in (early, late):
        found = ownership_history.compute_owners(
            [reading(0, entry(CI, NOON, "a")), reading(10, entry(EDIT, told, "a"))]
        )
        assert found.moments[0].at == NOON + timedelta(minutes=10)


def test_reading_that_shows_nothing_new_is_no_moment():
    same = entry(CI, NOON, "a")

    found = ownership_history.compute_owners([reading(0, same), reading(5, same), reading(9, same, source=Source.RUN)])

    assert len(found.moments) == 1


def test_ownership_period_ends_when_the_last_field_is_gone():
    readings = [
        reading(0, None),
        reading(1, entry(CI, NOON, "a"), source=Source.RUN),
        reading(5, entry(CI, NOON, "a"), entry(EDIT, NOON, "b", "c")),
        reading(9, entry(CI, NOON, "a", "b", "c"), source=Source.RUN),
    ]

    found = ownership_history.compute_owners(readings)

    ends = [(t.owner, t.since.minute, t.until and t.until.minute, t.most) for t in found.periods]
    assert ends == [(CI, 0, None, 3), (EDIT, 5, 9, 2)]
    assert [m.is_there for m in found.moments] == [True, True, True, False]


def test_object_that_was_deleted_has_no_owners():
    found = ownership_history.compute_owners([reading(0, entry(CI, NOON, "a")), reading(2, None, source=Source.RUN)])

    assert (found.moments[0].is_there, [t.until for t in found.periods]) == (False, [NOON + timedelta(minutes=2)])


def test_last_applied_annotation_and_unreadable_entries_count_for_nothing():
    noise = entry(EDIT, NOON) | {
        "fieldsV1": {"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/last-applied-configuration": {}}}}
    }
    broken = entry(CI, NOON) | {"fieldsV1": {"nonsense": 1}}

    assert ownership_history.compute_owners([reading(0, noise), reading(1, broken)]).periods == ()


def live(team):
    """Made by ci, edited by hand, taken back by ci."""
    options = {"field_manager": "ci", "mode": ApplyMode.SERVER, "takes_over": True}
    team.apply(config_map(a="1"), **options)
    team.edit(SETTINGS, {"data": {"a": "9", "b": "2"}})
    team.apply(config_map(a="1"), **options)


@pytest.fixture(scope="module")
def played(django_db_setup, django_db_blocker):
    yield from share_story(django_db_blocker, live)


@pytest.fixture
def lived(played, db, monkeypatch):
    return played.go_on(monkeypatch)


def test_life_of_an_object_is_read_from_plans_and_runs(lived):
    found = ownership_history.owners_of("box", KEY, for_user=lived.bob)

    back, edited, made, absent = found.moments
    assert [(m.reading.source, m.reading.plan, m.reading.run) for m in found.moments] == [
        (Source.RUN, 1, 2),
        (Source.PLAN, 1, None),
        (Source.RUN, 1, 1),
        (Source.PLAN, 1, None),
    ]
    assert [(h.path, h.before, h.after) for h in edited.handovers] == [
        (".data.a", (CI,), (EDIT,)),
        (".data.b", (), (EDIT,)),
    ]
    assert [(h.path, h.after) for h in back.handovers] == [(".data.a", (CI,))]
    assert (made.is_there, absent.is_there, absent.holdings) == (True, False, ())
    assert [(t.owner, t.until is None) for t in found.periods] == [(CI, False), (EDIT, True), (CI, True)]


@pytest.mark.long
def test_only_the_newest_readings_are_looked_at(lived):
    found = ownership_history.owners_of("box", KEY, for_user=lived.bob, most=1)

    assert (found.is_cut, [m.reading.run for m in found.moments]) == (True, [2])


@pytest.mark.long
def test_object_of_another_cluster_or_name_is_another_one(lived):
    for cluster, key in (("other", KEY), ("box", ("", "ConfigMap", "default", "else"))):
        assert ownership_history.owners_of(cluster, key, for_user=lived.bob) == ownership_history.OwnersOverTime()


def test_who_may_not_look_there_learns_nothing(lived):
    with pytest.raises(NotVisibleError):
        ownership_history.owners_of("box", KEY, for_user=make_person("mallory"))
    far = make_person("farah")

    grant_role(far, Role.VIEWER, cluster="box", namespace="other")
    with pytest.raises(NotVisibleError):
        ownership_history.owners_of("box", KEY, for_user=far)


@pytest.mark.core(1)
@pytest.mark.parametrize("times", [1, 3])
def test_owners_take_a_fixed_number_of_queries(lived, times, django_assert_num_queries):
    for number in range(times):
        lived.apply(config_map(a=str(number)), field_manager="ci", mode=ApplyMode.SERVER)

    with django_assert_num_queries(4):
        ownership_history.owners_of("box", KEY, for_user=lived.bob)
