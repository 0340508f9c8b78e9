"""Rows of one transaction are written together, or none of them."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from applyviz.records import triggers
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, ChainEnd, JournalEntry, ObjectChange
from applyviz.workflow.audit import trail
from applyviz.workflow.foundation.gathering import gather
from applyviz.workflow.foundation.row_updates import insert_rows
from tests.stories import Team, config_map

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


def read_columns(model: type, pk: int) -> dict[str, object]:
    """A row as the database holds it."""
    names = [field.column for field in model._meta.concrete_fields]
    columns = ", ".join(f'"{name}"' for name in names)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM {model._meta.db_table} WHERE id = %s", [pk])
        return dict(zip(names, cursor.fetchone(), strict=True))


@pytest.mark.parametrize("model", [JournalEntry, AuditEntry, ObjectChange])
def test_inserted_rows_are_those_that_django_stores(model, monkeypatch):
    Team().wire_up(monkeypatch).apply(config_map("a", a="1"), config_map("b", b="\u00e9\u2028"))
    found = list(model.objects.order_by("pk"))
    stored = [read_columns(model, row.pk) for row in found]
    names = [field.attname for field in model._meta.concrete_fields if not field.primary_key]
    again = [model(**{name: getattr(row, name) for name in names}) for row in found]
    triggers.lift("default")
    with transaction.atomic():
        model.objects.all()._raw_delete("default")
        insert_rows(again)
        insert_rows([])
        written = [read_columns(model, row.pk) for row in again]
        transaction.set_rollback(True)  # other rows still refer to those that were there

    assert len(found) > 1
    assert not any(row._state.adding for row in again)
    assert [{**row, "id": ""} for row in written] == [{**row, "id": ""} for row in stored]


def test_more_rows_than_one_statement_holds_get_their_own_keys(monkeypatch):
    monkeypatch.setattr(connection.ops, "bulk_batch_size", lambda _fields, _rows: 2)
    with gather():
        for number in range(5):
            record(number)

    assert list(AuditEntry.objects.order_by("sequence").values_list("detail__number", flat=True)) == list(range(5))
