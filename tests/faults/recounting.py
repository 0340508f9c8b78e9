"""Tells a history in words: what was broken, and everything that is known about the runs and objects concerned.

Values are those of tests; the text is kept in a file of its own, so that a broken rule can be understood later.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.faults.checker import find_owner
from tests.faults.history import Exchange, History, Item, Run, Violation


def _at(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%H:%M:%S.%f")[:-3] if moment else "-" * 12


def _is_about(violation: Violation, run: Run) -> bool:
    words = violation.about.split()
    if words[:2] == ["run", str(run.number)]:
        return True
    return any(item.path and item.path.rpartition("/")[2] == words[-1].rpartition("/")[2] for item in run.items)


def _tell_exchange(history: History, seen: Exchange) -> str:
    owner = find_owner(history, seen)
    whose = f"run {owner[0].number} epoch {owner[2].epoch} part {owner[2].part}" if owner else "no journal entry"
    intents = "not asked" if seen.intents is None else f"{len(seen.intents)} intents"
    wrote = f"{'acted' if seen.is_effective else 'no effect'}, {intents}, {whose}" if seen.is_write else "read"
    told = "delivered" if seen.is_delivered else "not delivered"
    odd = f" [{seen.phase}]" if seen.phase else ""
    query = f"?{'&'.join(f'{k}={v}' for k, v in seen.query.items())}" if seen.query else ""
    return f"{_at(seen.received)} {seen.method} {seen.path}{query} -> {seen.status}{odd} {told}; {wrote}"


def _tell_item(history: History, run: Run, item: Item) -> Iterator[str]:
    yield f"  object {'/'.join(item.key)} step {item.step} {item.operation}: {item.outcome} at {_at(item.finished_at)}"
    yield f"    {item.detail}"
    for entry in item.journal:
        yield (
            f"    journal part {entry.part} epoch {entry.epoch} {entry.method} {entry.state} {entry.status or ''}"
            f" sent {_at(entry.sent_at)} answered {_at(entry.answered_at)} before {dict(entry.before)}"
        )
    for seen in history.exchanges:
        if seen.place == item.path:
            yield f"    {_tell_exchange(history, seen)}"


def _tell_run(history: History, run: Run) -> Iterator[str]:
    lasted = f"{_at(run.created_at)} to {_at(run.finished_at)}"
    yield f"run {run.number}: {run.state}, epoch {run.epoch}, {lasted} {run.error}"
    for told in history.audit:
        if told.run == run.number:
            yield f"  audit {_at(told.at)} {told.action} {'/'.join(told.key)} {str(told.detail)[:160]}"
    for item in run.items:
        yield from _tell_item(history, run, item)


def recount(history: History, broken: Sequence[Violation], blows: Iterable[tuple[float, str]]) -> str:
    """The broken rules, the blows, and all about the runs that the rules name."""
    lines = ["broken rules:", *(f"  {violation}" for violation in broken), "blows:"]
    lines += [f"  {at:7.1f} {what}" for at, what in blows]
    for run in history.runs:
        if any(_is_about(violation, run) for violation in broken):
            lines += _tell_run(history, run)
    return "\n".join(lines)


def keep(history: History, told: str, *, seed: int) -> Path:
    """Keep a history in a folder of its own: as text, and as it is for the checker; gives the folder."""
    folder = Path(tempfile.mkdtemp(prefix=f"nemesis-{seed}-"))
    (folder / "history.txt").write_text(told)
    (folder / "history.pickle").write_bytes(pickle.dumps(history))
    return folder
