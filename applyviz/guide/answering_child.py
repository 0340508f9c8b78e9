"""The disposable process that computes one answer of the playground: limits first, then bytes, then the answer.

Only `limited` runs it. Any effect of a text on parser, engine or masking stays in this process.
"""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from applyviz.engine.planning.digest.serialize import to_json
from applyviz.guide import playground
from applyviz.guide.given import Given, GivenError
from applyviz.sources.child import limit_self


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    given = Given.from_json(asked["given"])
    try:
        kept = given if asked["is_masked"] else playground.without_secrets(given)
        return {"kept": kept.to_json(), "change": to_json(playground.explain(kept, now=asked["now"]))}
    except GivenError as error:
        problems = error.problems or (playground.NOT_COMPUTED,)
        return {"problems": [[problem.part, problem.reason] for problem in problems]}


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Answer the one question on the input line."""
    asked = json.loads(source.readline())
    limit_self(asked["memory_bytes"], asked["cpu_seconds"])
    target.write(json.dumps(_answer(asked)).encode())
    target.flush()
