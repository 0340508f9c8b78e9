"""Which station holds what, and which one wins: drawn for every operation, without a value in the picture."""

from __future__ import annotations

import pytest
from msgspec import structs

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason, Stage
from applyviz.engine.explain.three_way import (
    FourValues,
    MergeOutcome,
    Station,
    ThreeWay,
    Winner,
    knows_last_applied,
    read_three_way,
    withhold_three_way,
)
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import fields

PATH = fields("spec", "replicas")
ME, OTHER = Owner("me", "Apply"), Owner("helm", "Update")
SAME, ELSE, GAP, RING = Station.SAME, Station.OTHER, Station.UNSET, Station.UNKNOWN
OP, STAGE = FieldOperation, Stage


def is_equal(left, right):
    return str(left) == str(right)


def reason_of(operation, reason=Reason.MANIFEST_SETS, stage=Stage.MERGE, owners=()):
    return FieldReason(PATH, operation, reason, owners_before=tuple(owners), stage=stage)


@pytest.mark.parametrize(
    ("reason", "values", "expected"),
    [
        (reason_of(OP.CHANGED), (1, 2, 1, 2), ThreeWay(ELSE, SAME, ELSE, MergeOutcome.SET, Winner.MANIFEST)),
        (reason_of(OP.SET), (ABSENT, 2, ABSENT, 2), ThreeWay(GAP, SAME, GAP, MergeOutcome.SET, Winner.MANIFEST)),
        (
            reason_of(OP.CLEARED, Reason.REMOVED_FROM_MANIFEST),
            (1, ABSENT, 1, ABSENT),
            ThreeWay(ELSE, GAP, ELSE, MergeOutcome.REMOVED, Winner.MANIFEST),
        ),
        (
            reason_of(OP.KEPT, Reason.OWNED_BY_OTHERS),
            (2, ABSENT, 5, 5),
            ThreeWay(ELSE, GAP, SAME, MergeOutcome.SET, Winner.LIVE),
        ),
        (
            reason_of(OP.NOT_REMOVED, Reason.STILL_OWNED_BY_OTHERS),
            (5, ABSENT, 5, 5),
            ThreeWay(SAME, GAP, SAME, MergeOutcome.SET, Winner.LIVE),
        ),
        (
            reason_of(OP.DEFAULTED, Reason.SERVER_DEFAULT, STAGE.DEFAULTS),
            (3, ABSENT, 3, 10),
            ThreeWay(ELSE, GAP, ELSE, MergeOutcome.SET, Winner.SERVER),
        ),
        (
            reason_of(OP.CHANGED, Reason.SERVER_CHANGED, STAGE.SERVER),
            (3, 4, 3, 5),
            ThreeWay(ELSE, ELSE, ELSE, MergeOutcome.SET, Winner.SERVER),
        ),
        (
            reason_of(OP.CLEARED, Reason.SERVER_CHANGED, STAGE.SERVER),
            (3, 4, 3, ABSENT),
            ThreeWay(ELSE, ELSE, ELSE, MergeOutcome.REMOVED, Winner.SERVER),
        ),
        (
            reason_of(OP.UNCHANGED, Reason.SERVER_CHANGED, STAGE.SERVER),
            (ABSENT, 4, ABSENT, ABSENT),
            ThreeWay(GAP, ELSE, GAP, MergeOutcome.UNSET, Winner.NONE),
        ),
        (
            reason_of(OP.CHANGED, Reason.BOOKKEEPING),
            (ABSENT, ABSENT, 1, 2),
            ThreeWay(GAP, GAP, ELSE, MergeOutcome.SET, Winner.SERVER),
        ),
        (
            reason_of(OP.UNCHANGED, Reason.MANIFEST_EQUALS_LIVE),
            (1, 1, 1, 1),
            ThreeWay(SAME, SAME, SAME, MergeOutcome.SET, Winner.NONE),
        ),
        (
            reason_of(OP.UNCHANGED, Reason.REMOVED_FROM_MANIFEST),
            (1, ABSENT, ABSENT, ABSENT),
            ThreeWay(ELSE, GAP, GAP, MergeOutcome.UNSET, Winner.NONE),
        ),
        (
            reason_of(OP.CONFLICT, Reason.CONFLICTS),
            (1, 2, 3, 3),
            ThreeWay(ELSE, ELSE, ELSE, MergeOutcome.UNRESOLVED, Winner.CONFLICT),
        ),
    ],
)
def test_picture_of_each_operation(reason, values, expected):
    assert read_three_way(reason, FourValues(*values), is_known=True, is_equal=is_equal) == expected


def test_values_are_compared_as_the_schema_compares_them():
    found = read_three_way(reason_of(OP.CHANGED), FourValues("1", 2, 1, "2"), is_known=True, is_equal=is_equal)

    assert (found.last_applied, found.manifest) == (ELSE, SAME)


def test_what_nobody_knows_is_drawn_as_unknown():
    found = read_three_way(reason_of(OP.CHANGED), FourValues(ABSENT, 2, 1, 2), is_known=False, is_equal=is_equal)

    assert found.last_applied is RING


@pytest.mark.parametrize(
    ("owners", "is_new", "expected"),
    [
        ((ME,), False, True),
        ((OTHER, ME), False, True),
        ((OTHER,), False, False),
        ((Owner("me", "Update"),), False, False),
        ((), False, False),
        ((), True, True),
    ],
)
def test_server_side_apply_knows_what_it_owns(owners, is_new, expected):
    reason = reason_of(OP.CHANGED, owners=owners)

    assert knows_last_applied(reason, manager="me", is_new=is_new) is expected


@pytest.mark.parametrize(
    ("last_applied", "manifest", "is_known", "expected"),
    [
        ("a", "b", True, (ELSE, ELSE)),
        (ABSENT, "b", True, (GAP, ELSE)),
        ("a", ABSENT, True, (ELSE, GAP)),
        (ABSENT, "b", False, (RING, ELSE)),
    ],
)
def test_withheld_picture_draws_nothing_of_live(last_applied, manifest, is_known, expected):
    found = withhold_three_way(last_applied, manifest, is_known=is_known)

    assert (found.last_applied, found.manifest) == expected
    assert (found.live, found.outcome, found.winner) == (RING, MergeOutcome.UNKNOWN, Winner.NONE)


def test_withheld_picture_is_the_same_for_a_right_and_a_wrong_guess():
    right, wrong = (withhold_three_way("old", guess, is_known=True) for guess in ("old", "new"))

    assert right == wrong


def test_picture_holds_no_value():
    found = read_three_way(reason_of(OP.CHANGED), FourValues("x", "y", "x", "y"), is_known=True, is_equal=is_equal)

    assert {type(value) for value in structs.astuple(found)} == {Station, MergeOutcome, Winner}
