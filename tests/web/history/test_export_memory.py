"""Taking the history away needs the same memory for a long history as for a short one."""

import gc
import tracemalloc
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.urls import reverse

from applyviz.records.models import AuditEntry
from applyviz.web.frame import streams
from applyviz.workflow.evidence import history, report
from applyviz.workflow.foundation import paging
from benchmarks.audit import build_rows

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.usefixtures("usual_collector")]
SHORT, LONG = 600, 2_400


@pytest.fixture
def usual_collector():
    """Cycles are freed as early as where the product runs; tests collect less often."""
    ours = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*ours)


def write(since, until):
    """Entries of about 1.2 kB each as a line, in chains of their own: exports write entries meanwhile."""
    rows = list(build_rows(until, {}))[since:]
    AuditEntry.objects.bulk_create(AuditEntry(**row | {"id": None, "chain": 10**6 + row["id"]}) for row in rows)


def measure_export(address):
    """The peak of memory in bytes, and how many bytes were sent to somebody who takes them as they come."""
    auditor, _ = User.objects.get_or_create(username="auditor", is_superuser=True)

    async def take():
        browser = AsyncClient()
        await browser.aforce_login(auditor)
        response: Any = await browser.get(address)
        tracemalloc.start()
        size = 0
        gc.freeze()
        async for piece in response.streaming_content:
            size += len(piece)
            gc.collect()  # queries leave cycles behind, which the export does not keep
        return tracemalloc.get_traced_memory()[1], size

    try:
        return async_to_sync(take)()
    finally:
        gc.unfreeze()
        tracemalloc.stop()


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "address", ["/history/export/{}/", "/history/evidence/export/{}/?since=2026-01-01&until=2026-01-31"]
)
def test_export_takes_the_same_memory_for_four_times_the_length(monkeypatch, address, form):
    pages = ((history, "_CHUNK", 50), (paging, "PAGE", 10), (report, "PAGE", 10), (streams, "PIECE", 4_096))
    for place, name, value in pages:
        monkeypatch.setattr(place, name, value)
    path = address.format(form)
    assert path.partition("?")[0] in (
        reverse("history:export-entries", args=[form]),
        reverse("history:export-evidence", args=[form]),
    )
    write(0, SHORT)
    measure_export(path)  # what is imported and remembered once
    short, short_size = measure_export(path)
    write(SHORT, LONG)

    long, long_size = measure_export(path)

    assert long_size > 3.5 * short_size
    assert long < 1.3 * short + 100_000, f"{short} bytes at {short_size}, {long} bytes at {long_size}"
