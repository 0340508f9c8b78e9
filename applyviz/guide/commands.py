"""Run a whole `kubectl apply` or `kubectl delete` on the small cluster of an example.

The cluster is that of `cluster.py`. The result is the output of kubectl, line by line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from applyviz.engine.manifests.documents import ParsedFile
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.requests.argv import parse_apply
from applyviz.engine.requests.kubectl import CommandResult, run_apply
from applyviz.engine.schema.builtin import bundled
from applyviz.guide.cluster import answer_request, read_cluster
from applyviz.guide.deletions import run_deletion

# Where a problem is: kubectl does not say.
_POSITION = re.compile(r"^set(?::(?P<line>[0-9]+))?(?::[0-9]+)?: ")
_NO_KIND = ": ensure CRDs are installed first"


def _print_error(error: str, manifests: ParsedFile) -> Iterator[str]:
    """Yield the lines of kubectl for an error of a set: no position, but the object of an unknown kind."""
    found = _POSITION.match(error)
    reason = error[found.end() :] if found else error
    document = next((d for d in manifests.documents if found and str(d.position.line) == found["line"]), None)
    if document is None or not reason.endswith(_NO_KIND):
        yield f"error: {reason}"
        return
    named = f'name: "{document.ref.name}" namespace: "{document.ref.namespace}" from "set"'
    yield f"error: resource mapping not found for {named}: {reason.removesuffix(_NO_KIND)}"
    yield _NO_KIND.removeprefix(": ")


def run_command(command: str, manifests: str, cluster: str) -> Sequence[str]:
    """Return the lines that the command prints, and one for each error."""
    words = shlex.split(command)
    start = words.index("kubectl")
    if words[start + 1] == "delete":
        cluster_objects = read_cluster(cluster)
        return run_deletion(words[start + 2 :], manifests, lambda request: answer_request(request, cluster_objects))
    environment = dict(word.partition("=")[::2] for word in words[:start])
    parsed = parse_apply(words[start + 1 :], environment, namespace="shop")
    given = parse_manifests(manifests.encode(), "set")
    flow = run_apply([given], command=parsed, catalog=bundled())
    live = read_cluster(cluster)
    try:
        request = next(flow)
        while True:
            request = flow.send(answer_request(request, live))
    except StopIteration as stop:
        result: CommandResult = stop.value
        return (*result.lines, *(line for error in result.errors for line in _print_error(error, given)))
