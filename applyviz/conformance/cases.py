"""One case, answered: what every family yields and the report counts."""

from __future__ import annotations

from dataclasses import dataclass

from applyviz.engine.objects.values import JSONValue


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The verdict on one case.

    `name` finds it again ("ssa.jsonl.gz line 17", "prune-applyset step 3 invocation 0"); `reason` is
    one line that says where it differs ("" when it agrees); `expected` and `got` are what differed.

    - `fields`: how many fields the case made a statement about, `caveats` of them with a caveat only.
    """

    family: str
    name: str
    agrees: bool
    reason: str = ""
    expected: JSONValue = None
    got: JSONValue = None
    fields: int = 0
    caveats: int = 0
