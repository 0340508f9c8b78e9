"""Approvals and runs as rows, past every use case, and whether the database refuses something."""

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from applyviz.records.models import ApplyRun, Approval


def approve(plan, person, **values):
    given = {
        "plan": plan,
        "digest": plan.digest,
        "by": person,
        "by_name": person.username,
        "created_at": timezone.now(),
    }
    with transaction.atomic():
        return Approval.objects.create(**{**given, **values})


def refused(action):
    with pytest.raises((IntegrityError, DatabaseError)) as raised, transaction.atomic():
        action()
    return str(raised.value)


def run_row(plan, by, **values):
    given = {"number": 1, "plan": plan, "requested_by": by, "created_at": timezone.now()}
    return ApplyRun.objects.create(**{**given, **values})
