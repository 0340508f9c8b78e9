"""The fate of a container, by the name of its image: the sandbox pulls none and runs none.

Rule: an image starts and stays ready, unless its name contains one of three words. They let a person see each kind of
failure; they are on the sandbox's page and in the guide.
"""

from __future__ import annotations

import re
from enum import StrEnum

MISSING, CRASHING, UNREADY = "does-not-exist", "crash-loop", "never-ready"
_REFERENCE = re.compile(r"[a-z0-9][a-z0-9._:/-]*(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?")


class ImageFate(StrEnum):
    """The fate of a container."""

    RUNS = "runs"
    INVALID = "invalid"
    MISSING = MISSING
    CRASHES = CRASHING
    UNREADY = UNREADY


def read_fate(image: str) -> ImageFate:
    """Return how a container with an image of this name starts, fails or becomes ready."""
    if not _REFERENCE.fullmatch(image):
        return ImageFate.INVALID
    if MISSING in image:
        return ImageFate.MISSING
    if CRASHING in image:
        return ImageFate.CRASHES
    return ImageFate.UNREADY if UNREADY in image else ImageFate.RUNS
