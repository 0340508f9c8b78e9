"""What the history costs: entries verified and exported per second, and how long a page of it takes.

    .venv/bin/python -m benchmarks.audit [--entries N]

Writes N chained entries (100,000 unless told) into a database of its own that is thrown away. `page`: the newest
entries, a filter that finds many, one that finds few, entries far back, a text nobody wrote; the 95th of 100 calls
(p95), after one that warms up.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

ROUNDS = 100
KINDS = ("Deployment", "Service", "ConfigMap", "Secret", "Ingress")


def build_rows(count: int) -> Iterator[Any]:
    # Late: models exist only after Django is set up.
    from applyviz.records.models import AuditEntry
    from applyviz.workflow.audit import GENESIS, STORED, hash_entry

    start, head = datetime(2026, 1, 1, tzinfo=UTC), GENESIS
    for number in range(1, count + 1):
        run = number // 40 + 1
        entry = AuditEntry(
            sequence=number,
            at=start + timedelta(seconds=number * 9),
            action="object.intent" if number % 2 else "object.result",
            actor_name="applyviz" if number % 20 else f"person-{number // 20 % 50}",
            request_id=f"{number:016x}",
            cluster=f"cluster-{run % 7}",
            review=run,
            plan=1,
            run=run,
            group="apps",
            kind=KINDS[number % 5],
            namespace=f"team-{number % 30}",
            name=f"part-{number % 2000}",
            field_manager="ci" if number % 3 else "applyviz",
            plan_digest=f"{run:064x}",
            detail={
                "outcome": "applied and verified",
                "status": 200,
                "method": "PATCH",
                "resourceVersion": str(number),
            },
            previous_hash=head,
        )
        head = entry.hash = hash_entry({name: getattr(entry, name) for name in STORED[:-1]})
        yield entry


def fill(count: int) -> None:
    from applyviz.records.models import AuditEntry, AuditHead

    rows = build_rows(count)
    while batch := list(islice(rows, 5_000)):
        AuditEntry.objects.bulk_create(batch)
    AuditHead.objects.update_or_create(id=1, defaults={"sequence": count, "hash": find_last_hash()})


def find_last_hash() -> str:
    from applyviz.records.models import AuditEntry

    return AuditEntry.objects.order_by("-sequence").values_list("hash", flat=True)[0]


def measure(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def print_rates(count: int) -> None:
    from applyviz.workflow import chain, history

    def take(form: history.ExportFormat) -> int:
        return sum(map(len, history.export_entries({}, form)))

    def verify() -> None:
        report = chain.verify_chain()
        if not report.is_intact or report.entries != count:
            raise SystemExit(f"the history is not intact: {report}")

    print(f"verify        {count / measure(verify):10,.0f} entries/s")
    for form in history.ExportFormat:
        export = measure(partial(take, form))
        print(f"export {form.value:6} {count / export:10,.0f} entries/s")


def print_pages(count: int) -> None:
    from applyviz.web.presenters.history import present_history

    middle = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=count * 9 // 2)
    pages: dict[str, tuple[dict[str, Any], int | None]] = {
        "newest": ({}, None),
        "many": ({"cluster": "cluster-3"}, None),
        "few": ({"kind": "Secret", "namespace": "team-3", "name": "part-3"}, None),
        "none": ({"person": "nobody"}, None),
        "manager": ({"manager": "helm"}, None),
        "period": ({"until": middle.date()}, None),
        "period+": ({"until": middle.date(), "person": "person-7", "cluster": "cluster-3"}, None),
        "far back": ({}, count // 50),
        "text": ({"text": "a text nobody wrote"}, None),
    }
    for name, (chosen, before) in pages.items():
        times = [measure(partial(present_history, chosen, before=before)) for _ in range(ROUNDS + 1)]
        print(f"page {name:8} {sorted(times[1:])[ROUNDS * 95 // 100 - 1] * 1000:9.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=100_000)
    count = parser.parse_args().entries
    home = Path(tempfile.mkdtemp(prefix="applyviz-benchmark-"))
    os.environ |= {"APPLYVIZ_HOME": str(home), "DJANGO_SETTINGS_MODULE": "applyviz.settings"}
    import django
    from django.core.management import call_command

    try:
        django.setup()
        call_command("migrate", verbosity=0)
        print(f"{count:,} entries written in {measure(lambda: fill(count)):.1f} s")
        print_rates(count)
        print_pages(count)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
