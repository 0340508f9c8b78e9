"""What a use case refuses, in words for people; pages turn each into its own status.

WorkflowError
  - NotVisibleError   outsiders learn nothing: 404
  - NotAllowedError   the role is too weak, or it is one's own: 403
  - NotPossibleError  the state forbids it now (stale page, undecided conflict, spent approval): 409
  - NotValidError     what was given cannot be used: 422
  - TooOftenError     it was tried too often; later it can be: 429
"""

from __future__ import annotations

from applyviz.engine.objects.errors import ApplyVizError


class WorkflowError(ApplyVizError):
    """A use case was refused."""

    status = 500


class NotVisibleError(WorkflowError):
    """It does not exist, or not for this person."""

    status = 404


class NotAllowedError(WorkflowError):
    """This person may not do it."""

    status = 403


class NotPossibleError(WorkflowError):
    """It cannot be done now; the text says what blocks."""

    status = 409


class NotValidError(WorkflowError):
    """What was given cannot be used; the text says why."""

    status = 422


class TooOftenError(WorkflowError):
    """It was done too often within a while; `retry_after` is how many seconds to wait, 0 when nobody knows."""

    status = 429

    def __init__(self, text: str, retry_after: int = 0) -> None:
        super().__init__(text)
        self.retry_after = retry_after
