"""The result of one case, for every family and for the report."""

from __future__ import annotations

from msgspec import Struct

from applyviz.engine.objects.values import JSONValue


class CaseResult(Struct, frozen=True):
    """The verdict on one case.

    `name` identifies it ("ssa.jsonl.gz line 17", "prune-applyset step 3 invocation 0"); `reason` is one line that says
    where it differs ("" if it agrees); `expected` and `got` are the values that differ.

    - `fields`: the number of fields with a statement, `caveats` of them only with a caveat.
    - `claims`: how many single claims of what people read were judged.
    """

    family: str
    name: str
    agrees: bool
    reason: str = ""
    expected: JSONValue = None
    got: JSONValue = None
    fields: int = 0
    caveats: int = 0
    claims: int = 0
