"""Read model of the verification, slice by slice, so that a long history needs no long request."""

from __future__ import annotations

from collections.abc import Sequence

from django.urls import reverse
from msgspec import Struct

from applyviz.engine.objects.structs import replace
from applyviz.records.models import AuditEntry
from applyviz.web.components.badges import Appearance
from applyviz.workflow.audit import approval_macs, chain, checkpoints
from applyviz.workflow.audit.approval_macs import MACResult
from applyviz.workflow.audit.chain import ChainReport, Checkpoint
from applyviz.workflow.audit.checkpoints import SignedCheckpoint

SLICE = 20_000
_INTACT, _BAD, _GOING = Appearance("✓", "", "add"), Appearance("×", "", "remove"), Appearance("▸", "", "change")  # noqa: RUF001 a cross


class PrunedRow(Struct, frozen=True):
    """How many bodies a policy removed, and the entry that records it."""

    count: int
    policy: str
    url: str


class VerificationPage(Struct, frozen=True):
    """The checkpoint and the progress of verification; `goes_on_after` is None when it has ended or not begun.

    - `checked` counts entries, those of earlier slices included; `removed` names the policies that removed bodies.
    - `signed` is the checkpoint that was published last, `key` the public key of its signature.
    - `verdict` is the check of all approvals, once every entry was read.
    - `matched` counts the given published checkpoints; when everything is intact, they match.
    """

    head: Checkpoint
    report: ChainReport | None
    style: Appearance
    published: str
    goes_on_after: int | None
    checked: int
    total: int
    bad_url: str
    removed: tuple[PrunedRow, ...]
    signed: SignedCheckpoint | None
    key: str
    matched: int
    verdict: MACResult | None


def verify_slice(*, after: int, published: Sequence[Checkpoint]) -> ChainReport:
    """Verify the next entries against the newest published checkpoint; at the end, compare all the others too."""
    newest = max(published, key=lambda head: head.sequence, default=None)
    report = chain.verify_chain(after=after, limit=SLICE, published=newest)
    bad = checkpoints.find_contradiction(published) if report.is_intact and report.is_finished else None
    return replace(report, bad=bad) if bad else report


def _present_removals(report: ChainReport | None) -> tuple[PrunedRow, ...]:
    if report is None or not report.is_finished or not report.removed:
        return ()
    entries = AuditEntry.objects.filter(chain=0, sequence__in=list(report.removed)).order_by("id")
    return tuple(
        PrunedRow(
            report.removed[entry.sequence],
            str(entry.detail.get("policy", "")),
            reverse("history:show-entry", args=[entry.pk]),
        )
        for entry in entries
    )


def present_verification(
    head: Checkpoint, report: ChainReport | None, published: str, *, before: int = 0, matched: int = 0
) -> VerificationPage:
    """Return the page; without a report nothing was verified yet. `before` counts the entries of earlier slices."""
    is_going = report is not None and report.is_intact and not report.is_finished
    bad = report.bad if report else None
    is_done = report is not None and report.is_intact and report.is_finished
    verdict = approval_macs.check_all() if is_done else None
    is_bad = bad is not None or bool(verdict and verdict.forged)
    return VerificationPage(
        head=head,
        report=report,
        style=_GOING if is_going else _BAD if is_bad else _INTACT,
        published=published,
        goes_on_after=report.last if report is not None and is_going else None,
        checked=before + (report.entries if report else 0),
        total=chain.count_entries(),
        bad_url=reverse("history:show-entry", args=[bad.number]) if bad and bad.number else "",
        removed=_present_removals(report),
        signed=checkpoints.find_published(),
        key=checkpoints.public_key(),
        matched=matched,
        verdict=verdict,
    )
