"""The report of `scripts/test`: a table, the time, unstable tests, and last what failed and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from scripts.lane_runs import PROCESSORS, Lane, LaneResult, load_of

_LENGTH = 200


def render_table(results: Sequence[LaneResult], pace: float = 1.0) -> str:
    """Return one line per lane with its seconds and its budget at this pace, and below it the reasons of skips."""
    head = (
        f"{'lane':<20} {'result':<8} {'passed':>6} {'failed':>6} {'unstable':>8} {'skipped':>7} {'seconds':>8} "
        f"{'CPU':>6} {'budget':>6}  why not"
    )
    lines = [f"\n{head}"]
    for result in results:
        word = ("FAILED" if result.failed else "passed") if result.was_run else "not run"
        counts = f"{result.passed:>6} {result.failed:>6} {len(result.unstable):>8} {sum(result.skips.values()):>7}"
        counts += f" {result.seconds:>8.1f} {result.processor_seconds:>6.0f}"
        budget = f"{result.lane.budget * pace:.0f}" if result.lane.budget else "-"
        remark = "over budget" if result.is_over_budget(pace) else result.reason
        remark = "earlier run of this commit" if result.is_earlier else remark
        lines.append(f"{result.lane.name:<20} {word:<8} {counts} {budget:>6}  {remark}".rstrip())
        lines += [f"{'':<20} skipped {count:>6}  {reason}" for reason, count in sorted(result.skips.items())]
    return "\n".join(lines)


def budget_of(chosen: Iterable[Lane]) -> float:
    """Return the seconds that lanes may take together, on as many processors as they get."""
    return sum(lane.budget * load_of(lane) for lane in chosen) / PROCESSORS


def render_sum(results: Sequence[LaneResult], seconds: float, pace: float = 1.0) -> str:
    """Return the total time of all lanes, their budget, and the lanes over budget."""
    budget = budget_of(result.lane for result in results) * pace
    over = ", ".join(result.lane.name for result in results if result.is_over_budget(pace))
    slower = f" ({pace:.1f} times that of the reference machine)" if pace != 1 else ""
    return f"\nall lanes together: {seconds:.0f} seconds; budget {budget:.0f}{slower}; over budget: {over or 'none'}"


def render_unstable(results: Sequence[LaneResult]) -> str:
    """Return the tests that failed and then passed, one per line with lane and first error; "" for none."""
    return "\n".join(
        f"{result.lane.name}: {test.node}\n    {test.error[:_LENGTH]}" for result in results for test in result.unstable
    )


def render_failures(results: Sequence[LaneResult]) -> str:
    """Return what failed, one test per line with its lane, below it the place and the first line of its error."""
    lines = []
    for result in results:
        lines += [f"{result.lane.name}: {test.node}\n    {test.error[:_LENGTH]}" for test in result.failures]
    return "\n".join(lines)


def write_report(results: Sequence[LaneResult], folder: Path) -> None:
    """Write `unstable.txt` and `failed.txt` into a folder; each is empty when there is nothing to name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("unstable", render_unstable(results)), ("failed", render_failures(results))):
        (folder / f"{name}.txt").write_text(f"{text}\n" if text else "")
