"""Refusals of use cases, in words for people; each has one status on pages and in the API.

WorkflowError
  - NotVisibleError   the subject does not exist or is not visible: 404
  - NotAllowedError   the role is too weak, or it is the person's own change: 403
  - NotPossibleError  the current state forbids it (stale page, unresolved conflict, spent approval): 409
  - NotValidError     the input cannot be used: 422
    - FieldRefusedError   one field of a form cannot be used
  - TooOftenError     too many attempts; possible later: 429
"""

from __future__ import annotations

from applyviz.engine.objects.errors import ApplyVizError


class WorkflowError(ApplyVizError):
    """A use case was refused."""

    status = 500


class NotVisibleError(WorkflowError):
    """The subject does not exist, or is not visible to this person."""

    status = 404


class NotAllowedError(WorkflowError):
    """This person may not do it."""

    status = 403


class NotPossibleError(WorkflowError):
    """It cannot be done now; the text names the blocker."""

    status = 409


class NotValidError(WorkflowError):
    """The input cannot be used; the text says why."""

    status = 422


class FieldRefusedError(NotValidError):
    """One field of a form cannot be used; `field` names it."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


class TooOftenError(WorkflowError):
    """Too many attempts; `retry_after` is the number of seconds to wait, 0 when unknown."""

    status = 429

    def __init__(self, text: str, retry_after: int = 0) -> None:
        super().__init__(text)
        self.retry_after = retry_after
