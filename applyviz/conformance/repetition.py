"""Find out whether kubectl's own apply of a manifest keeps sending a patch although nothing changes.

The applies run on a sandbox that holds the object as the plan leaves it. A patch that only repeats the order of entries
does not count.
"""

from __future__ import annotations

from collections.abc import Mapping

from applyviz.conformance import covering
from applyviz.conformance.inputs import HeldCluster, Planned
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.exchange import JSON_PATCH, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.requests.client_side import apply_client_side
from applyviz.engine.requests.members import place_member

_ORDER = "$setElementOrder/"
# An apply after the planned one may still change something, for example add an entry that the planned one removed.
_MAX_APPLIES = 3


def moves(planned: Planned, before: JSONObject, after: JSONObject) -> bool:
    """Return whether a value differs between two versions of an object; records of server and kubectl do not count."""
    has_status = planned.kind is not None and planned.kind.has_status
    left, right = (covering.strip(obj, has_status=has_status) for obj in (before, after))
    return any(covering.find_difference(left, right))


def is_sent_again(planned: Planned) -> bool:
    """Return whether every later apply of the same manifest sends a patch that changes nothing.

    - The first later apply that changes nothing decides. If each of them changes something, no patch repeats.
    """
    cluster, change = HeldCluster(planned.given), planned.change
    if not cluster.run(change):
        return False
    for _ in range(_MAX_APPLIES):
        before = cluster.find(change)
        is_sent = any(_says_more_than_order(request.body) for request in _apply(planned, cluster))
        if not moves(planned, before or {}, cluster.find(change) or {}):
            return is_sent
    return False


def _apply(planned: Planned, cluster: HeldCluster) -> list[Request]:
    """Run kubectl's own apply, and return the patches that it sent."""
    options = replace(planned.options, takes_client_side=False, has_preconditions=False)
    member = place_member(planned.change.versions.manifest or {}, options=options, catalog=planned.given.catalog)
    flow = apply_client_side(member.obj, resource=member.resource, kind=member.kind, options=options)
    sent: list[Request] = []
    try:
        request = next(flow)
        while True:
            if request.method == "PATCH" and request.content_type != JSON_PATCH:
                sent.append(request)
            request = flow.send(cluster.handle(request))
    except StopIteration:
        return sent
    except ApplyVizError:
        return sent  # the server refuses what is sent again: a null in a list is dropped only where the list is new


def _says_more_than_order(patch: JSONValue) -> bool:
    """Return whether a patch holds more than the order of entries, which kubectl sends if others added some."""
    if not isinstance(patch, Mapping) or not patch:
        return True
    ordered = {name.removeprefix(_ORDER) for name in patch if name.startswith(_ORDER)}
    kept = {name: value for name, value in patch.items() if not name.startswith(_ORDER)}
    return any(
        any(map(_entry_says_more, value))
        if name in ordered and isinstance(value, list)
        else _says_more_than_order(value)
        for name, value in kept.items()
    )


def _entry_says_more(entry: JSONValue) -> bool:
    """Return whether an entry of an ordered list holds more than its key and the order of lists below."""
    if not isinstance(entry, Mapping):
        return True
    below = {name: value for name, value in entry.items() if isinstance(value, Mapping | list)}
    return len(entry) - len(below) > 1 or (bool(below) and _says_more_than_order(below))
