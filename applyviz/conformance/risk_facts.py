"""Whether the facts in the sentence of a risk are so: what it says of live and after is looked up again.

Only the kinds in `FACTS` are judged; whether a risk is there at all is judged by its predicate (`risks.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from applyviz.conformance import covering, renumbered
from applyviz.conformance.covering import NOTHING
from applyviz.conformance.inputs import Planned
from applyviz.engine.risks.model import Risk


def _compare_default(planned: Planned, risk: Risk) -> str:
    """Return what live had where the manifest has null, as the risk of such a null names it."""
    versions = planned.change.versions
    live, after = (covering.find(obj or {}, risk.path) for obj in (versions.live, versions.after or versions.live))
    if live is NOTHING or live is None:
        return "absent"
    return "other" if covering.differs(live, after) else "same"


FACTS: Mapping[str, tuple[str, Callable[[Planned, Risk], str]]] = {
    "null-defaults-again": ("live", _compare_default),
    "pods-renumbered": ("deleted", lambda planned, risk: renumbered.name_deleted(planned.change)),
}
"""Of a kind of risk the name of a fact, and how it is found."""


def find_untrue(planned: Planned) -> Iterator[str]:
    """Yield each fact of a risk that is another one."""
    for risk in planned.change.risks:
        name, find = FACTS.get(risk.kind.slug, ("", None))
        if find is not None and (found := find(planned, risk)) != risk.facts[name]:
            yield f"{risk.kind.slug} says {risk.facts[name]!r}, really {found!r}"
