"""Validate priority levels: which section goes with which type, and how requests wait.

Rule: ValidatePriorityLevelConfigurationSpec of k8s.io/kubernetes `pkg/apis/flowcontrol/validation`, v1.36.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from applyviz.engine.objects.values import JSONObject
from applyviz.kubernetes.parity.status import FieldError, forbidden, invalid, not_supported, required

_TYPES = ("Exempt", "Limited")
_RESPONSES = ("Queue", "Reject")
_NOT_NEGATIVE = "must be a non-negative integer"
_MOST_QUEUES = 10_000_000
# The bits of a hash that choose the queues of a request.
_HASH_BITS = 60


def validate_priority_level(obj: JSONObject) -> Iterator[FieldError]:
    """Yield the problems of a PriorityLevelConfiguration."""
    spec = obj.get("spec") or {}
    kind, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get("exempt")
    if (obj["metadata"].get("name") == "exempt") is not (kind == "Exempt"):
        yield invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    if not kind:
        yield required("spec.type")
    elif kind not in _TYPES:
        yield not_supported("spec.type", kind, _TYPES)
    elif kind == "Exempt":
        if limited is not None:
            yield forbidden("spec.limited", "must be nil if the type is not Limited")
        yield from _validate_shares(exempt or {}, "spec.exempt")
        yield from _validate_lending(exempt or {}, "spec.exempt")
    else:
        if exempt is not None:
            yield forbidden("spec.exempt", "must be nil if the type is Limited")
        if limited is None:
            yield required("spec.limited", "must not be empty when type is Limited")
        else:
            yield from _validate_limited(limited, "spec.limited")


def _validate_shares(section: JSONObject, path: str) -> Iterator[FieldError]:
    shares = section.get("nominalConcurrencyShares")
    if shares is not None and shares < 0:
        yield invalid(f"{path}.nominalConcurrencyShares", shares, _NOT_NEGATIVE)


def _validate_lending(section: JSONObject, path: str) -> Iterator[FieldError]:
    share = section.get("lendablePercent")
    if share is not None and not 0 <= share <= 100:
        yield invalid(f"{path}.lendablePercent", share, "must be between 0 and 100, inclusive")


def _validate_limited(limited: JSONObject, path: str) -> Iterator[FieldError]:
    yield from _validate_shares(limited, path)
    yield from _validate_response(limited.get("limitResponse") or {}, f"{path}.limitResponse")
    yield from _validate_lending(limited, path)
    share = limited.get("borrowingLimitPercent")
    if share is not None and share < 0:
        yield invalid(f"{path}.borrowingLimitPercent", share, f"if specified, {_NOT_NEGATIVE}")


def _validate_response(response: JSONObject, path: str) -> Iterator[FieldError]:
    kind, queuing = response.get("type") or "", response.get("queuing")
    if not kind:
        yield required(f"{path}.type")
    elif kind not in _RESPONSES:
        yield not_supported(f"{path}.type", kind, _RESPONSES)
    elif kind == "Reject" and queuing is not None:
        yield forbidden(f"{path}.queuing", "must be nil if limited.limitResponse.type is not Limited")
    elif kind == "Queue" and queuing is None:
        yield required(f"{path}.queuing", "must not be empty if limited.limitResponse.type is Limited")
    elif queuing is not None:
        yield from _validate_queuing(queuing, f"{path}.queuing")


def _validate_queuing(queuing: JSONObject, path: str) -> Iterator[FieldError]:
    queues, hand, length = (queuing.get(name, 0) for name in ("queues", "handSize", "queueLengthLimit"))
    if length <= 0:
        yield invalid(f"{path}.queueLengthLimit", length, "must be positive")
    if queues <= 0:
        yield invalid(f"{path}.queues", queues, "must be positive")
    elif queues > _MOST_QUEUES:
        yield invalid(f"{path}.queues", queues, f"must not be greater than {_MOST_QUEUES}")
    if hand <= 0:
        yield invalid(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        yield invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > _HASH_BITS:
        wanted = f"required entropy bits of deckSize {queues} and handSize {hand}"
        yield invalid(f"{path}.handSize", hand, f"{wanted} should not be greater than {_HASH_BITS}")
