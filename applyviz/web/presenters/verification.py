"""What verification of the chain found, slice by slice: a long history is no long request."""

from __future__ import annotations

from dataclasses import dataclass

from applyviz.web.presenters.operations import Look
from applyviz.workflow.chain import ChainReport, Head

SLICE = 20_000
_INTACT, _BAD, _GOING = Look("✓", "", "add"), Look("×", "", "remove"), Look("▸", "", "change")  # noqa: RUF001 a cross


@dataclass(frozen=True, slots=True)
class VerificationPage:
    """The head, and how far verification is; `goes_on_after` is None when it has ended or not begun."""

    head: Head
    report: ChainReport | None
    look: Look
    published: str
    goes_on_after: int | None


def present_verification(head: Head, report: ChainReport | None, published: str) -> VerificationPage:
    """The whole page; without a report nothing was asked yet."""
    is_going = report is not None and report.is_intact and not report.is_finished
    return VerificationPage(
        head=head,
        report=report,
        look=_GOING if is_going else _INTACT if report is None or report.is_intact else _BAD,
        published=published,
        goes_on_after=report.entries if report is not None and is_going else None,
    )
