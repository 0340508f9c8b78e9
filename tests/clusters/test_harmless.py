"""Does the reader refuse every request that a server would persist?"""

from __future__ import annotations

import pytest

from applyviz.clusters.reader import is_harmless
from applyviz.engine.objects.exchange import Request

OPTIONS = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}


@pytest.mark.parametrize(
    ("request_", "harmless"),
    [
        (Request("GET", "/p"), True),
        (Request("PATCH", "/p", {"dryRun": "All"}, body={}), True),
        (Request("PATCH", "/p", {"dryRun": ""}, body={}), False),
        (Request("POST", "/p", body={}), False),
        (Request("DELETE", "/p"), False),
        (Request("DELETE", "/p", {"dryRun": "All"}), True),
        (Request("DELETE", "/p", body={**OPTIONS, "dryRun": ["All"]}), True),
        # A server that finds options in the body does not look at the query: this one would delete.
        (Request("DELETE", "/p", {"dryRun": "All"}, body=OPTIONS), False),
        (Request("PATCH", "/p", body={"dryRun": ["All"]}), False),
    ],
)
def test_harmless(request_, harmless):
    assert is_harmless(request_) is harmless
