"""What is wrong with what a program sent: every problem of it, each with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TypeVar

from applyviz.workflow.foundation.errors import NotValidError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """One thing that is wrong, with its place: a field of what was sent, or a line of a manifest."""

    message: str
    field: str = ""
    file: str = ""
    line: int = 0
    column: int = 0

    def to_json(self) -> dict[str, str | int]:
        """Without what it does not name."""
        return {name: value for name, value in asdict(self).items() if value}


class ProblemsError(NotValidError):
    """What was sent cannot be used; every problem of it."""

    def __init__(self, problems: Iterable[SourceProblem], status: int = 422) -> None:
        self.problems = tuple(problems)
        self.status = status
        super().__init__("; ".join(problem.message for problem in self.problems))


def collect(read: Callable[[], T]) -> tuple[T | None, tuple[SourceProblem, ...]]:
    """What reading a part gives, or its problems, so that those of other parts are found as well."""
    try:
        return read(), ()
    except ProblemsError as error:
        return None, error.problems
