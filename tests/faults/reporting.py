"""Tells at the end of a session how many distinct points were struck, over all its processes.

A point counts when its fault took place: a kill that came too late, because the run had ended, is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.faults.points import FEWEST_KILLS, KILLS, find_seed

STRUCK, MISSED = "struck point", "missed point"


def _list_told(reporter: Any) -> Iterator[tuple[str, str, bool]]:
    """(whether struck, the point as kind/name, whether it belongs to the long lane) of every finished trial."""
    for reports in reporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                for name, value in report.user_properties:
                    if name in (STRUCK, MISSED):
                        yield name, value, "long" in report.keywords


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line: the seed, and for each kind of fault how many distinct points were struck."""
    told = set(_list_told(terminalreporter))
    if not told:
        return
    struck = Counter(point.partition("/")[0] for name, point, _ in told if name == STRUCK)
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(struck.items()))
    missed = sum(name == MISSED for name, _, _ in told)
    terminalreporter.write_line(
        f"faults, seed {find_seed()}: {struck.total()} distinct points struck ({kinds}), {missed} not reached"
    )


def pytest_sessionfinish(session: Any) -> None:
    """The long lane fails when it killed the worker at too few places."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput") or session.config.option.keyword:
        return
    told = {(name, point) for name, point, is_long in _list_told(reporter) if is_long}
    killed = sum(name == STRUCK and point.partition("/")[0] in KILLS for name, point in told)
    if told and killed < FEWEST_KILLS and session.exitstatus == 0:
        reporter.write_line(f"the worker was killed at {killed} distinct points, not at {FEWEST_KILLS}")
        session.exitstatus = 1
