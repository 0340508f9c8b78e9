"""Is the history what was written? Walks the global chain and the chains of all runs, and names the first bad entry.

An entry is bad when it is missing, does not follow the one before it in its chain, or does not have the content that
its hash covers. A body that a retention policy removed leaves its hash, and an entry that tells which policy it was.
The rows of the heads, what the global chain says of the chains of runs, and a head that was published earlier tell
whether entries at the end are missing. Whoever can rewrite everything is only found out by a published head.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from django.db.models import Count, Exists, OuterRef

from applyviz.records.enums import AuditAction
from applyviz.records.guards import KEPT_ACTIONS
from applyviz.records.models import AuditEntry, AuditHead
from applyviz.workflow import anchors
from applyviz.workflow.audit import GENESIS, GLOBAL, STORED, find_start, hash_detail, hash_entry
from applyviz.workflow.errors import NotValidError

_CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class Head:
    """One end of the global chain, as it is published: `sequence:hash`."""

    sequence: int = 0
    hash: str = GENESIS
    at: datetime | None = None

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `sequence:hash`; raises `NotValidError`."""
        found = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text.strip())
        if found is None:
            raise NotValidError(f"a published head is written sequence:hash, not {text!r}")
        return cls(int(found[1]), found[2])


@dataclass(frozen=True, slots=True)
class BadEntry:
    """Where the first fault is: the place in its chain, the number that pages show (None: there is no row)."""

    chain: int
    sequence: int
    reason: str
    number: int | None = None

    def __str__(self) -> str:
        where = f"entry {self.sequence} of the chain of run {self.chain}" if self.chain else f"entry {self.sequence}"
        return f"{where} is bad: {self.reason}"


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What verification found: entries that are good, the last number that was read, and the first bad entry.

    - `head` is the last good hash of the global chain, `runs` how many chains of runs were met.
    - `removed` counts the bodies that went, by the global sequence of the entry that tells of it.
    - `is_finished` says whether the end was reached; a walk with a limit may stop before it.
    """

    entries: int
    head: str
    last: int = 0
    runs: int = 0
    removed: Mapping[int, int] = field(default_factory=dict)
    bad: BadEntry | None = None
    is_finished: bool = True

    @property
    def is_intact(self) -> bool:
        """Whether every entry that was read is as it was written."""
        return self.bad is None


def find_head() -> Head:
    """The end of the global chain now."""
    row = AuditHead.objects.filter(chain=GLOBAL).first()
    if row is None or row.sequence == 0:
        return Head()
    at = AuditEntry.objects.filter(chain=GLOBAL, sequence=row.sequence).values_list("at", flat=True).first()
    return Head(row.sequence, row.hash, at)


def publish_head() -> Head:
    """The end of the global chain, after the chains of all runs were tied to it."""
    anchors.tie_loose()
    return find_head()


class _Walk:
    """What is known while entries are read by their numbers: where each chain stands."""

    def __init__(self, after: int, published: Head | None) -> None:
        self.after, self.published = after, published
        self.stands: dict[int, tuple[int, str]] = {}
        self.removed: dict[int, int] = {}
        self.starts: dict[int, str] = {}

    def _find_start(self, chain: int) -> str:
        return self.starts.get(chain) or (find_start(chain) if chain else GENESIS)

    def stand(self, chain: int) -> tuple[int, str]:
        """Sequence and hash of the last entry of a chain that was read, here or in an earlier slice."""
        if chain not in self.stands:
            row = None
            if self.after:
                earlier = AuditEntry.objects.filter(chain=chain, id__lte=self.after).order_by("-sequence")
                row = earlier.values_list("sequence", "hash").first()
            self.stands[chain] = row or (0, self._find_start(chain))
        return self.stands[chain]

    def find_fault(self, row: Mapping[str, Any]) -> BadEntry | None:
        """Why an entry cannot be the next one of its chain; None when it can."""
        chain = row["chain"]
        bad = self._catch_up(chain, row["sequence"] - 1, row["id"])
        if bad is not None:
            return bad
        sequence, before = self.stand(chain)
        if row["sequence"] != sequence + 1:
            return BadEntry(chain, sequence + 1, "it is missing")
        reason = _find_content_fault(row, before) or self._find_promise_fault(row)
        return BadEntry(chain, row["sequence"], reason, row["id"]) if reason else None

    def _catch_up(self, chain: int, until: int, number: int) -> BadEntry | None:
        """Read what was committed only after the walk had passed its number: its transaction was long."""
        sequence = self.stand(chain)[0]
        if sequence >= until:
            return None
        late = AuditEntry.objects.filter(chain=chain, sequence__gt=sequence, sequence__lte=until, id__lt=number)
        for row in late.order_by("sequence").values(*STORED)[:_CHUNK]:
            if row["sequence"] != self.stand(chain)[0] + 1:
                break
            bad = self.find_fault(row)
            if bad is not None:
                return bad
            self.take(row)
        return None

    def _find_promise_fault(self, row: Mapping[str, Any]) -> str:
        """Whether the published head, the named heads of runs and the told removal hold."""
        published = self.published
        if row["chain"] == GLOBAL and published is not None and row["sequence"] == published.sequence:
            return "" if row["hash"] == published.hash else "it is not the published head"
        if row["chain"] == GLOBAL and row["action"] in (AuditAction.HISTORY_ANCHORED, AuditAction.RUN_FINISHED):
            for chain, head in (row["detail"].get("heads") or {}).items():
                self._catch_up(int(chain), int(head.partition(":")[0]), row["id"])
                if "{}:{}".format(*self.stand(int(chain))) != head:
                    return f"it names {head.partition(':')[0]} entries of run {chain}, which are not there as written"
        return ""

    def take(self, row: Mapping[str, Any]) -> None:
        """Remember a good entry."""
        self.stands[row["chain"]] = (row["sequence"], row["hash"])
        if row["action"] == AuditAction.RUN_STARTED and row["run"] is not None:
            self.starts.setdefault(row["run"], row["hash"])
        if row["pruned_by"] is not None:
            self.removed[row["pruned_by"]] = self.removed.get(row["pruned_by"], 0) + 1


def _find_content_fault(row: Mapping[str, Any], before: str) -> str:
    if row["previous_hash"] != before:
        return "it does not follow the entry before it"
    if row["hash"] != hash_entry(row):
        return "its content is not what was written"
    if row["form"] == 1:
        return ""
    if row["pruned_by"] is not None:
        is_left = row["detail"] or row["salt"] or row["action"] in KEPT_ACTIONS
        return "its body is not what was written" if is_left else ""
    return "" if row["detail_hash"] == hash_detail(row["salt"], row["detail"]) else "its body is not what was written"


def _read(after: int, limit: int | None) -> Iterator[Mapping[str, Any]]:
    rows = AuditEntry.objects.filter(id__gt=after).order_by("id").values(*STORED)
    # Without a limit every row is read at once on SQLite, which holds no cursor over a long walk; so by pages.
    left = limit
    while left is None or left > 0:
        page = list(rows.filter(id__gt=after)[: min(_CHUNK, left or _CHUNK)])
        yield from page
        if len(page) < _CHUNK:
            return
        after, left = page[-1]["id"], None if left is None else left - len(page)


def _find_removal_fault(removed: Mapping[int, int]) -> BadEntry | None:
    """Whether the history tells of each removal, and of so many."""
    told = AuditEntry.objects.filter(chain=GLOBAL, action=AuditAction.HISTORY_PRUNED, sequence__in=list(removed))
    counts = {sequence: detail.get("entries") for sequence, detail in told.values_list("sequence", "detail")}
    for sequence, count in sorted(removed.items()):
        if counts.get(sequence) != count:
            said = counts.get(sequence, "nothing")
            return BadEntry(
                GLOBAL, sequence, f"{count} bodies name it as the reason why they are gone, it tells of {said}"
            )
    return None


def _find_end_fault(published: Head | None) -> BadEntry | None:
    """Whether every chain ends where the row of its head says."""
    ends = AuditEntry.objects.filter(chain=OuterRef("chain"), sequence=OuterRef("sequence"), hash=OuterRef("hash"))
    lost = AuditHead.objects.filter(~Exists(ends), sequence__gt=0).order_by("chain").first()
    if lost is not None:
        last = AuditEntry.objects.filter(chain=lost.chain).order_by("-sequence").first()
        if last is None or last.sequence < lost.sequence:
            place = last.sequence + 1 if last else 1
            return BadEntry(lost.chain, place, f"entries up to {lost.sequence}, the end of the chain, are missing")
        return BadEntry(lost.chain, last.sequence, "it is not what the head of the chain names", last.pk)
    further = AuditEntry.objects.filter(chain=OuterRef("chain"), sequence__gt=OuterRef("sequence"))
    short = AuditHead.objects.filter(Exists(further)).order_by("chain").first()
    headless = set(AuditEntry.objects.order_by().values_list("chain", flat=True).distinct())
    headless -= set(AuditHead.objects.values_list("chain", flat=True))
    if short is not None or headless:
        chain, behind = (short.chain, short.sequence) if short else (min(headless), 0)
        beyond = AuditEntry.objects.filter(chain=chain, sequence__gt=behind).order_by("sequence")[0]
        return BadEntry(chain, beyond.sequence, "it stands behind the head of its chain", beyond.pk)
    last_sequence = find_head().sequence
    if published is not None and last_sequence < published.sequence:
        reason = f"entries up to the published head {published.sequence} are missing"
        return BadEntry(GLOBAL, last_sequence + 1, reason)
    return None


def _check_end(report: ChainReport, published: Head | None) -> ChainReport:
    bad = _find_end_fault(published)
    pruned = AuditEntry.objects.filter(pruned_by__isnull=False).order_by()
    removed = dict(pruned.values_list("pruned_by").annotate(count=Count("id")))
    return replace(report, bad=bad or _find_removal_fault(removed), removed=removed)


def verify_chain(*, after: int = 0, limit: int | None = None, published: Head | None = None) -> ChainReport:
    """Check the history from behind the entry numbered `after` on, its end included; names the first bad entry.

    - `limit` stops after so many entries, so that a page may verify a long history in slices.
    - `entries` counts those of this call.
    """
    walk, count, last = _Walk(after, published), 0, after
    for row in _read(after, limit):
        bad = walk.find_fault(row)
        if bad is not None:
            return ChainReport(count, walk.stand(GLOBAL)[1], last, len(walk.stands) - 1, walk.removed, bad)
        walk.take(row)
        count, last = count + 1, row["id"]
    is_finished = limit is None or count < limit
    head = walk.stand(GLOBAL)[1]
    report = ChainReport(count, head, last, len(walk.stands) - 1, walk.removed, is_finished=is_finished)
    return _check_end(report, published) if is_finished else report
