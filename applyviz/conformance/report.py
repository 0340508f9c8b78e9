"""Find corpora, run every family on them, and count: agreeing / all.

A path is a recorded story, a file of random cases or of reported inputs, or a folder that is searched for all of them.
A case that a runner cannot judge counts as disagreeing, with its reason; nothing is left out. Exceptions that are known
by name (`exceptions.py`) do not agree either, but the report only prints their reasons.
"""

from __future__ import annotations

import difflib
import importlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from applyviz.conformance.cases import CaseResult
from applyviz.conformance.exceptions import find_exception
from applyviz.conformance.inputs import ApplyInput, is_report, plan_all, read_inputs
from applyviz.conformance.shown import Presenter
from applyviz.conformance.stories import load_json, load_lines
from applyviz.engine.objects.values import JSONValue, MutableObject

_STORY_SUFFIXES = (".json", ".json.gz")
_LINES_SUFFIX = ".jsonl.gz"
_CRDS = "crds.json.gz"
# The module that judges a family; it is imported on demand, so that a merge needs no sandbox.
_LINE_RUNNERS = {
    "smp3": "merging",
    "jmp3": "merging",
    "ssa": "ownership",
    "update": "ownership",
    "csaupgrade": "ownership",
    "playground": "playground",
}
_STORY_RUNNERS = {
    "reading": "reading",
    "requests": "requests",
    "replay": "replay",
    "plan-confirmed": "plans",
    "plan-estimated": "plans",
}
# The modules that judge several families of one story, and need the family's name.
_OF_SEVERAL = frozenset({"plans"})
FAMILIES = (*_LINE_RUNNERS, *_STORY_RUNNERS)
# What people read about a plan, judged on every input of an apply; each is a module.
SHOWN_FAMILIES = ("rows", "reasons", "risks")
_MAX_DIFF_LINES = 60
# Percent of the fields of a family.
_MOST_CAVEATS = 5


@dataclass
class Tally:
    """The counts of one family so far: its cases, and those that disagree.

    - `named`: how many cases fall under each exception, by its reason.
    - `fields`: the number of fields with a statement, `caveats` of them only with a caveat; `claims`: those judged.
    """

    total: int = 0
    disagreeing: list[CaseResult] = field(default_factory=list)
    named: Counter[str] = field(default_factory=Counter)
    fields: int = 0
    caveats: int = 0
    claims: int = 0

    @property
    def agree(self) -> int:
        """The number of cases that agree."""
        return self.total - len(self.disagreeing) - self.named.total()

    @property
    def is_vague(self) -> bool:
        """Whether more than five percent of the fields have caveats, which is as good as no statement."""
        return self.caveats * 100 > self.fields * _MOST_CAVEATS

    def add(self, case: CaseResult) -> None:
        """Count one case."""
        self.total += 1
        self.fields += case.fields
        self.caveats += case.caveats
        self.claims += case.claims
        exception = None if case.agrees else find_exception(case)
        if exception is not None:
            self.named[exception.reason] += 1
        elif not case.agrees:
            self.disagreeing.append(case)


@dataclass
class Report:
    """All families of one run."""

    families: dict[str, Tally] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Whether nothing disagrees, beside the named exceptions."""
        return not any(t.disagreeing or t.is_vague for t in self.families.values())

    def add(self, case: CaseResult) -> None:
        """Count one case in its family."""
        self.families.setdefault(case.family, Tally()).add(case)

    def as_data(self) -> MutableObject:
        """Return the counts as JSON values."""
        return {
            "families": {
                name: {"agree": t.agree, "total": t.total, "disagree": [c.name for c in t.disagreeing]}
                | ({"named": dict(t.named)} if t.named else {})
                | ({"fields": t.fields, "caveats": t.caveats} if t.fields else {})
                | ({"claims": t.claims} if t.claims else {})
                for name, t in self.families.items()
            }
        }


def is_story(path: Path) -> bool:
    """Return whether a file holds a recorded story."""
    if not path.name.endswith(_STORY_SUFFIXES) or path.name == _CRDS:
        return False
    data = load_json(path)
    return isinstance(data, dict) and isinstance(data.get("steps"), list)


def find_corpora(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files of all formats under the paths, in order.

    - Raises `FileNotFoundError` for a path that does not exist.
    """
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file or folder")
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in found:
            is_lines = file.name.endswith((_LINES_SUFFIX, ".jsonl"))
            if is_lines or (file.is_file() and (is_story(file) or is_report(file))):
                yield file


def _judge(family: str, module: str, path: Path, *more: object) -> Iterator[CaseResult]:
    """Yield the cases of a family's runner; its failure is one more case, with the reason."""
    try:
        runner = importlib.import_module(f"{__package__}.{module}")
        yield from runner.run_file(path, family, *more) if more else runner.run_story(path)
    except Exception as error:
        # The failure of one runner must not hide the counts of the others.
        yield CaseResult(family, path.name, False, f"the runner broke: {type(error).__name__}: {error}")


def _find_crds(path: Path) -> Mapping[str, JSONValue]:
    crds = path.parent / _CRDS
    loaded = load_json(crds) if crds.exists() else {}
    return loaded if isinstance(loaded, dict) else {}


def _run_lines(path: Path, families: Collection[str]) -> Iterator[CaseResult]:
    written = Counter(str(case.get("op", "")) for _, case in load_lines(path))
    crds = _find_crds(path)
    for family, total in written.items():
        if families and family not in families:
            continue
        if family not in _LINE_RUNNERS:
            yield CaseResult(family, path.name, False, f"unknown operation {family!r} in {total} cases")
            continue
        judged = 0
        for case in _judge(family, _LINE_RUNNERS[family], path, crds):
            judged += 1
            yield case
        for _ in range(judged, total):
            yield CaseResult(family, path.name, False, "not judged")


def _run_story(path: Path, families: Collection[str]) -> Iterator[CaseResult]:
    for family, module in _STORY_RUNNERS.items():
        if not families or family in families:
            yield from _judge(family, module, path, *([{}] if module in _OF_SEVERAL else ()))


def judge_shown(given: ApplyInput, families: Collection[str], presenter: Presenter) -> Iterator[CaseResult]:
    """Judge what people read about an input in both modes, confirmed and estimated: one case per object and family."""
    judges = {family: importlib.import_module(f"{__package__}.{family}") for family in families}
    try:
        for planned in plan_all(given):
            shown = presenter(planned.change, planned.options)
            yield from (judges[family].judge(planned, shown) for family in families)
    except Exception as error:
        # An input that fails is a disagreement, never a crash of the report.
        yield from (CaseResult(f, given.name, False, f"{type(error).__name__}: {error}") for f in families)


def _run_file(path: Path, families: Collection[str], presenter: Presenter | None) -> Iterator[CaseResult]:
    is_lines = path.name.endswith((_LINES_SUFFIX, ".jsonl"))
    if is_lines:
        yield from _run_lines(path, families)
    elif path.suffix != ".yaml":
        yield from _run_story(path, families)
    chosen = [family for family in SHOWN_FAMILIES if not families or family in families]
    if chosen and presenter is not None:
        for given in read_inputs(path):
            yield from judge_shown(given, chosen, presenter)


def run_corpora(
    paths: Iterable[Path],
    families: Collection[str] = (),
    presenter: Presenter | None = None,
    notify: Callable[[int, int], None] = lambda _done, _of: None,
) -> Report:
    """Run all (or the named) families on all corpora under the paths.

    - `presenter`: what page and API show; without it, the families that judge what people read are left out.
    - `notify`: is called after each file with the number of files that are done, and of all files.
    """
    report = Report({family: Tally() for family in (*FAMILIES, *SHOWN_FAMILIES) if family in families})
    corpora = tuple(find_corpora(paths))
    for done, path in enumerate(corpora, 1):
        for case in _run_file(path, families, presenter):
            report.add(case)
        notify(done, len(corpora))
    return report


def _pretty(value: JSONValue) -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    return text.splitlines()


def render_case(case: CaseResult) -> str:
    """Return one disagreement as text: position, reason, and the values that differ."""
    head = f"{case.family}: {case.name}: {case.reason or 'differs'}"
    if case.expected is None and case.got is None:
        return head
    lines = list(difflib.unified_diff(_pretty(case.expected), _pretty(case.got), "recorded", "ours", lineterm=""))
    if len(lines) > _MAX_DIFF_LINES:
        lines = [*lines[:_MAX_DIFF_LINES], f"… {len(lines) - _MAX_DIFF_LINES} more lines"]
    return "\n".join([head, *("  " + line for line in lines)])


def _render_caveats(tally: Tally) -> str:
    if not tally.fields:
        return f"  {tally.claims} claims" if tally.claims else ""
    note = f"  {tally.caveats} of {tally.fields} fields with a caveat"
    return note + (f": more than {_MOST_CAVEATS} % disagree" if tally.is_vague else "")


def render_report(report: Report, *, show: int = 0) -> str:
    """Return the counts per family, then the first `show` disagreements of each."""
    width = max((len(name) for name in report.families), default=0)
    lines = [f"{name:<{width}}  {t.agree:>6} / {t.total}{_render_caveats(t)}" for name, t in report.families.items()]
    for name, tally in report.families.items():
        lines += [f"{name}: {count} named: {reason}" for reason, count in tally.named.items()]
    for tally in report.families.values():
        lines += ["", *(render_case(case) for case in tally.disagreeing[:show])] if tally.disagreeing and show else []
    return "\n".join(lines)
