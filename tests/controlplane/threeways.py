"""Client-side applies of every built-in kind, invented whole: last applied, manifest and live object.

Beside `explore`, which mutates recorded cases of a few kinds, this makes objects of all kinds from their schemas: deep
ones, sparse ones, with wrong types, nulls and duplicates, and with the odd turns of `patching`.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.builtin import bundled
from tests.controlplane.generated_objects import Inventor
from tests.controlplane.histories import list_builtin
from tests.controlplane.judge import Judge
from tests.controlplane.patching import make_odd

Case = dict[str, Any]
_TIMES_ASKED = 3


def make_cases(judge: Judge, *, count: int, seed: int, family: str = "smp3") -> Iterator[Case]:
    """That many cases with their answers; those on which the library breaks down are left out."""
    rng = random.Random(seed)
    kinds = list_builtin()
    made = 0
    while made < count:
        case = _make_case(rng, rng.choice(kinds), family)
        if rng.random() < 0.5:
            case = make_odd(case, rng, judge)
        answers = [judge.ask(case) for _ in range(_TIMES_ASKED)]
        if answers[0] is not None and all(answer == answers[0] for answer in answers):
            made += 1
            yield {**case, "expected": answers[0]}


def _make_case(rng: random.Random, gvk: GroupVersionKind, family: str) -> Case:
    kind = bundled().find_kind(gvk)
    assert kind is not None
    inventor = Inventor(rng, rng.choice((0.15, 0.3, 0.6)))
    head = {"apiVersion": gvk.api_version, "kind": gvk.kind}
    first = inventor.make(kind.root, rng.choice((4, 6, 8)))
    first = first if isinstance(first, dict) else {}

    def vary(obj: Any, chance: float) -> Case:
        changed = inventor.change(kind.root, copy.deepcopy(obj), chance)
        changed = changed if isinstance(changed, dict) else {}
        metadata = changed.get("metadata")
        return {**changed, **head, "metadata": {**(metadata if isinstance(metadata, dict) else {}), "name": "n"}}

    modified = vary(first, rng.choice((0, 0.1, 0.3)))
    original = None if rng.random() < 0.1 else vary(inventor.pick(first, 0.95), rng.choice((0.02, 0.1, 0.3)))
    current = vary(rng.choice((first, original or {}, modified)), rng.choice((0.02, 0.1, 0.3)))
    given: Case = {"original": original, "modified": modified, "current": current}
    if family == "smp3":
        given["gvk"] = gvk._asdict()
    return {"op": family, "input": given}
