"""Reasons are told only where they surprise."""

from __future__ import annotations

import pytest

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.explain.surprises import is_surprising
from applyviz.engine.objects.paths import fields

OP = FieldOperation


def judge(reason, operation, detail="", *, is_live=True):
    return is_surprising(FieldReason(fields("spec"), operation, reason, detail), is_live=is_live)


@pytest.mark.parametrize(
    ("reason", "operation", "detail"),
    [
        (Reason.MANIFEST_SETS, OP.CHANGED, ""),
        (Reason.MANIFEST_EQUALS_LIVE, OP.UNCHANGED, ""),
        (Reason.NEW_ENTRY, OP.SET, ".spec"),
        (Reason.REMOVED_FROM_MANIFEST, OP.CLEARED, ""),
        (Reason.REMOVED_SOLE_OWNER, OP.CLEARED, ""),
        (Reason.REMOVED_FROM_MANIFEST, OP.UNCHANGED, ".spec"),
        (Reason.NULL_CLEARS, OP.UNCHANGED, ""),
        (Reason.LIVE_ONLY, OP.KEPT, ""),
        (Reason.SHARED, OP.UNCHANGED, "helm"),
        (Reason.BOOKKEEPING, OP.CHANGED, ""),
    ],
)
def test_what_values_say_is_not_said_again(reason, operation, detail):
    assert not judge(reason, operation, detail)


@pytest.mark.parametrize(
    ("reason", "operation", "detail"),
    [
        (Reason.REPLACED_WHOLE, OP.CHANGED, ""),
        (Reason.STILL_OWNED_BY_OTHERS, OP.NOT_REMOVED, "helm"),
        (Reason.NO_LAST_APPLIED, OP.NOT_REMOVED, ""),
        (Reason.SERVER_CHANGED, OP.SET, ""),
        (Reason.TAKEN_OVER, OP.CHANGED, "helm"),
        (Reason.ORDER, OP.CHANGED, ""),
        (Reason.NULL_CLEARS, OP.CLEARED, ""),
        (Reason.REMOVED_SOLE_OWNER, OP.CLEARED, ".spec"),
        (Reason.CONFLICTS, OP.CONFLICT, "helm"),
    ],
)
def test_what_nobody_expects_is_said(reason, operation, detail):
    assert judge(reason, operation, detail)


def test_a_default_surprises_where_it_replaces_a_value():
    assert judge(Reason.SERVER_DEFAULT, OP.DEFAULTED, is_live=True)
    assert not judge(Reason.SERVER_DEFAULT, OP.DEFAULTED, is_live=False)
