"""Problems of an API request: all of them, each with its location."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from applyviz.workflow.foundation.errors import NotValidError

T = TypeVar("T")


class SourceProblem(Struct, frozen=True):
    """One problem with its location: a field of the request, or a line of a manifest."""

    message: str
    field: str = ""
    file: str = ""
    line: int = 0
    column: int = 0

    def to_json(self) -> dict[str, str | int]:
        """Return the problem without empty parts."""
        return {name: value for name, value in asdict(self).items() if value}


class ProblemsError(NotValidError):
    """The request cannot be used; holds every problem."""

    def __init__(self, problems: Iterable[SourceProblem], status: int = 422) -> None:
        self.problems = tuple(problems)
        self.status = status
        super().__init__("; ".join(problem.message for problem in self.problems))


def collect(read: Callable[[], T]) -> tuple[T | None, tuple[SourceProblem, ...]]:
    """Return the result of reading one part, or its problems, so that problems of other parts are found as well."""
    try:
        return read(), ()
    except ProblemsError as error:
        return None, error.problems
