"""Rows of one transaction are written together, or none of them."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, ChainEnd
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation.gathering import gather

pytestmark = pytest.mark.django_db


def record(number: int) -> None:
    trail.record(AuditAction.HISTORY_EXPORTED, by=None, about=trail.AuditSubject(), detail={"number": number})


def record_and_lose() -> None:
    with gather():
        record(1)
        raise RuntimeError("lost")


def test_gathered_entries_are_one_chain_in_few_statements():
    record(0)
    with CaptureQueriesContext(connection) as queries, gather():
        for number in range(1, 9):
            record(number)
    record(9)

    entries = list(AuditEntry.objects.order_by("sequence"))
    assert [entry.detail["number"] for entry in entries] == list(range(10))
    assert [entry.previous_hash for entry in entries[1:]] == [entry.hash for entry in entries[:-1]]
    assert ChainEnd.objects.get(chain=0).hash == entries[-1].hash
    assert sum("SAVEPOINT" not in query["sql"] for query in queries) <= 4


def test_an_error_writes_nothing():
    record(0)
    end = ChainEnd.objects.get(chain=0).hash
    with pytest.raises(RuntimeError, match="lost"):
        record_and_lose()

    assert AuditEntry.objects.count() == 1
    assert ChainEnd.objects.get(chain=0).hash == end
