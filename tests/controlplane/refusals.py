"""Broken requests, sent to a real API server and to a sandbox: do both refuse them in the same words?

    python -m tests.controlplane.refusals --cases 3000 --seed 7

Prints how often they agree, in two families: *typed* errors (what cannot be read as its kind: wrong types, unknown
and repeated fields, bad texts and patches, entries without keys; for custom resources their schema too) and
*validation* (the rules of the built-in kinds). An answer counts as typed unless the server's is about such rules.
`--record` keeps the named requests of `refusal-named.yaml` and a sample of the random ones, with the server's answers,
in `tests/sandbox/data`, where units replay them without a server.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.controlplane.binaries import find_binaries
from tests.controlplane.breaking import Breaker, Place, Wire
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.refusal_data import find_form, record_named, to_json, write_sample
from tests.controlplane.refusal_judging import explain, is_part, is_same, is_validation
from tests.controlplane.refusal_sides import BROKEN, Reply, SandboxSide, ServerSide, Side, list_places, prepare

TYPED, VALIDATION, ACCEPTED = "typed", "validation", "accepted"
_ASKED_AGAIN = 40


@dataclass
class Figure:
    """How often the sandbox agreed, by family, and what it disagreed on."""

    total: Counter[str] = field(default_factory=Counter)
    agreed: Counter[str] = field(default_factory=Counter)
    broken: int = 0
    differing: list[tuple[str, Wire, Reply, Reply]] = field(default_factory=list)
    sample: dict[str, dict[str, Any]] = field(default_factory=dict)

    def render(self) -> str:
        families = (TYPED, VALIDATION, ACCEPTED)
        lines = [f"{name:10} {self.agreed[name]:6} of {self.total[name]:6} agree" for name in families]
        return "\n".join([*lines, f"left out   {self.broken:6} over which the server broke down"])


def find_family(place: Place, theirs: Reply, ours: Reply) -> str:
    """Which family a case belongs to."""
    if place.is_custom and theirs.status >= 400:
        return TYPED
    if is_validation(theirs) or (theirs.status < 400 and is_validation(ours)):
        return VALIDATION
    return ACCEPTED if theirs.status < 400 else TYPED


def compare(server: Side, sandbox: Side, cases: int, seed: int) -> Figure:
    """Ask both `cases` times."""
    places, breaker, figure = list_places(), Breaker(seed), Figure()
    by_path = {place.path: place for place in places} | {place.collection: place for place in places}
    for _ in range(cases):
        wire = breaker.make(places)
        place = by_path.get(wire.path) or by_path[wire.path.rpartition("/")[0]]
        theirs, ours = server.ask(wire), sandbox.ask(wire)
        if theirs.status == BROKEN:
            figure.broken += 1
            continue
        is_agreed = is_same(theirs, ours) or is_part(theirs, ours)
        if not is_agreed:
            theirs = _ask_again(server, wire, theirs, ours)
        family = find_family(place, theirs, ours)
        figure.total[family] += 1
        if is_agreed or is_same(theirs, ours):
            figure.agreed[family] += 1
            if is_same(theirs, ours) and family != VALIDATION:
                form = find_form(wire, theirs)
                figure.sample.setdefault(form, to_json(f"{family} {len(figure.sample)}", wire, theirs))
        else:
            figure.differing.append((family, wire, theirs, ours))
    return figure


def _ask_again(server: Side, wire: Wire, theirs: Reply, ours: Reply) -> Reply:
    """The answer of the server that is nearest to the sandbox's: it stops at what a random order brings first."""
    replies = [server.ask(wire) for _ in range(_ASKED_AGAIN)]
    same = next((reply for reply in replies if is_same(reply, ours)), None)
    alike = next((reply for reply in replies if is_validation(reply) and is_validation(ours)), None)
    return same or alike or theirs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="how many disagreements of each family to write out")
    parser.add_argument("--record", action="store_true", help="keep the named cases and a sample as data")
    options = parser.parse_args()
    with ControlPlane(find_binaries()) as plane:
        server, sandbox = ServerSide(plane), SandboxSide()
        prepare(server)
        prepare(sandbox)
        figure = compare(server, sandbox, options.cases, options.seed)
        if options.record:
            record_named(server)
            write_sample(figure.sample.values())
        server.close()
    shown = Counter[str]()
    for family, wire, theirs, ours in figure.differing:
        shown[family] += 1
        if shown[family] <= options.show:
            sys.stdout.write(f"\n{family}: {wire.describe()}\n{explain(theirs, ours)}\n")
    sys.stdout.write(f"{figure.render()}\n")


if __name__ == "__main__":
    main()
