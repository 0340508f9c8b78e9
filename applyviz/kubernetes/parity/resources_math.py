"""Calculate with amounts of resources as the server does: the requests of a Pod, and fractions.

Rule: `SetDefaults_Pod` of k8s.io/kubernetes (requests default to limits) and KEP-2837 (resources of the whole Pod).
Only Pods themselves are defaulted, never templates.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal

from applyviz.engine.objects.quantities import canonical_quantity, parse_quantity, read_amount, read_form
from applyviz.engine.objects.values import JSONObject, JSONValue, MutableObject

_THOUSAND, _OF_64_BITS = Decimal(1000), Decimal(1 << 64)
_MOST_DIGITS = 500
"""The greatest exponent of a quantity that is read, and some: no integer part has more digits beyond those written."""


def _value(text: JSONValue) -> Decimal:
    return read_amount(text) or Decimal(0)


def has_fraction(text: str) -> bool:
    """Return whether a quantity of any size has a fraction, once it is rounded up to thousandths.

    - Go counts the thousandths of what it holds as a big number in 64 bits: a whole number that overflows seems to have
      a fraction. A text that is no quantity has none.
    """
    parsed = parse_quantity(text)
    if parsed is None:
        return False
    # Division by a short number is linear in the digits; an integer of them is not.
    context = Context(prec=len(text) + _MOST_DIGITS, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)
    thousandths = context.to_integral_value(context.scaleb(parsed[0], 3))
    if read_form(text)[0] != "large":
        return context.remainder(thousandths, _THOUSAND) != 0
    last = int(context.remainder(thousandths, _OF_64_BITS))
    return ((last + (1 << 63)) % (1 << 64) - (1 << 63)) % 1000 != 0


def sum_requests(spec: JSONObject) -> dict[str, str]:
    """Return what the containers of a Pod request together at most, by resource.

    - Rule: AggregateContainerRequests: the containers and sidecars together, or one initial container beside the
      sidecars that started before it.
    """
    totals: dict[str, str] = {}
    for container in spec.get("containers") or ():
        totals = _add(totals, container)
    aside: dict[str, str] = {}
    most: dict[str, str] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            totals, aside = _add(totals, container), _add(aside, container)
            most = _larger(most, aside)
        else:
            most = _larger(most, _add(aside, container))
    return _larger(totals, most)


def _add(amounts: dict[str, str], container: JSONObject) -> dict[str, str]:
    """Return amounts and the requests of a container together; a sum is written as its first part is."""
    result = dict(amounts)
    for name, text in ((container.get("resources") or {}).get("requests") or {}).items():
        if name not in amounts:
            result[name] = text
            continue
        is_binary = (parse_quantity(amounts[name]) or (0, ""))[1] == "binary"
        total = _value(amounts[name]) + _value(text)
        plain = canonical_quantity(f"{int(total) / 1024:.0f}Ki" if is_binary and total % 1024 == 0 else f"{total:f}")
        result[name] = plain or amounts[name]
    return result


def _larger(one: dict[str, str], other: dict[str, str]) -> dict[str, str]:
    return {**one, **{name: text for name, text in other.items() if _value(text) > _value(one.get(name, "-1"))}}


def default_pod_resources(spec: MutableObject) -> None:
    """Set default requests: of containers from their limits, of the Pod from the sums, then from its limits."""
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        if resources.get("limits"):
            resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    whole = spec.get("resources")
    if whole and whole.get("limits"):
        sums = {k: v for k, v in sum_requests(spec).items() if k in ("cpu", "memory")}
        limits = {k: v for k, v in whole["limits"].items() if k in ("cpu", "memory") or k.startswith("hugepages-")}
        whole["requests"] = {**limits, **sums, **(whole.get("requests") or {})}
