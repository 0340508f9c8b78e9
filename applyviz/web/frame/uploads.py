"""Uploaded files stay in memory while a request is answered.

The intake reads them all there anyway, and `bodies` limits how much a person may send. Once a request is larger
than 2.5 MB, Django writes each file to a separate temporary file: 2,000 files took seconds and as many descriptors.
"""

from __future__ import annotations

from django.core.files.uploadhandler import MemoryFileUploadHandler

from applyviz.web.frame.bodies import SIGNED_IN


class InMemoryHandler(MemoryFileUploadHandler):
    """Keeps the files of a request that is not larger than `bodies` lets through."""

    def handle_raw_input(self, *given: object, **_more: object) -> None:
        """Take the files of this request, unless its length, which Django gives third, is too large."""
        length = given[2]
        self.activated = isinstance(length, int) and length <= SIGNED_IN
