"""Whether the facts in the sentence of a risk are so: what it says of live and after is looked up again.

Only the kinds in `FACTS` are judged; whether a risk is there at all is judged by its predicate (`risks.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from applyviz.conformance import covering, renumbered
from applyviz.conformance.covering import NOTHING
from applyviz.conformance.inputs import Planned
from applyviz.conformance.meaning import means
from applyviz.engine.objects.paths import render_path
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.risks.model import Risk
from applyviz.engine.schema.topology import of_root


def _compare_default(planned: Planned, risk: Risk) -> str:
    """Return what live had where the manifest has null, as the risk of such a null names it."""
    versions = planned.change.versions
    live, after = (covering.find(obj or {}, risk.path) for obj in (versions.live, versions.after or versions.live))
    if live is NOTHING or live is None:
        return "absent"
    return "other" if covering.differs(live, after) else "same"


def _name_answer(planned: Planned, risk: Risk) -> str:
    """Return what the risk of another value says, but for a list that begins with what was asked for."""
    versions = planned.change.versions
    asked, given = (covering.find(obj or {}, risk.path) for obj in (versions.merged, versions.after or versions.live))
    if not isinstance(asked, list) or not isinstance(given, list) or not 0 < len(asked) < len(given):
        return risk.facts["how"] if risk.facts["how"] != "added" else ""
    at = of_root(planned.kind.root) if planned.kind is not None else None
    is_added = all(means(one, other, at, (*risk.path, "i:0")) for one, other in zip(asked, given, strict=False))
    return "added" if is_added else risk.facts["how"].replace("added", "")


_OF_ANSWERS = frozenset(("admission-changed", "null-defaults-again"))
FACTS: Mapping[str, tuple[str, Callable[[Planned, Risk], str]]] = {
    "null-defaults-again": ("live", _compare_default),
    "admission-changed": ("how", _name_answer),
    "pods-renumbered": ("deleted", lambda planned, risk: renumbered.name_deleted(planned.change)),
}
"""Of a kind of risk the name of a fact, and how it is found."""


def find_untrue(planned: Planned) -> Iterator[str]:
    """Yield each fact of a risk that is another one; with an open conflict, no server has answered what is sent."""
    is_open = planned.change.operation is Operation.BLOCKED
    for risk in planned.change.risks:
        if is_open and risk.kind.slug in _OF_ANSWERS:
            yield f"{risk.kind.slug} is false, because a conflict is open"
            continue
        if risk.kind.slug == "removal-will-not-happen" and "is_null" not in risk.facts:
            written = covering.find(planned.change.versions.manifest or {}, risk.path)
            yield from (
                [f"removal of {render_path(risk.path)}, which the manifest has"] if written is not NOTHING else []
            )
        name, find = FACTS.get(risk.kind.slug, ("", None))
        if find is not None and (found := find(planned, risk)) != risk.facts[name]:
            yield f"{risk.kind.slug} says {risk.facts[name]!r}, really {found!r}"
