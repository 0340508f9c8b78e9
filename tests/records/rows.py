"""Approvals and runs as rows, past every use case, and whether the database refuses something."""

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from applyviz.records.models import ApplyRun
from tests.builders import make_approval


def approve(plan, person, **values):
    return make_approval(plan, person, **values)


def refused(action):
    with pytest.raises((IntegrityError, DatabaseError)) as raised, transaction.atomic():
        action()
    return str(raised.value)


def run_row(plan, by, **values):
    given = {"number": 1, "plan": plan, "requested_by": by, "created_at": timezone.now()}
    return ApplyRun.objects.create(**{**given, **values})
