"""Every piece of advice that a risk gives: a closed list, each with its sentence.

Advice is a promise like any other statement, so each kind is followed in a test, on a sandbox and on a real API
server (`tests/engine/planning/advice.py`). Sentences that only describe are in `sentences.py`.
"""

from __future__ import annotations

from enum import StrEnum


class Advice(StrEnum):
    """What to do about a risk."""

    QUOTE = "quote"
    QUOTE_DATE = "quote-date"
    USE_VERSION = "use-version"
    SIBLING_NULL = "sibling-null"
    SIBLING_REMOVE = "sibling-remove"
    SIBLING_OWN = "sibling-own"
    SIBLING_REPLACE = "sibling-replace"
    REPLICAS_OMIT = "replicas-omit"
    REPLICAS_OMIT_NEW = "replicas-omit-new"
    REPLICAS_KEEP = "replicas-keep"
    REPLICAS_HAND_OVER = "replicas-hand-over"
    REPLICAS_FORGET = "replicas-forget"
    RECREATE = "re-create"
    APPLY_SERVER_SIDE = "apply-server-side"


ADVICE: dict[Advice, str] = {
    Advice.QUOTE: "Quote it if it is meant as text.",
    Advice.QUOTE_DATE: "Quote it: other tools may not keep it as text.",
    Advice.USE_VERSION: "Use {instead}.",
    Advice.SIBLING_NULL: "Write {field}: null in the manifest.",
    Advice.SIBLING_REMOVE: "Remove {field} from the manifest.",
    Advice.SIBLING_OWN: (
        "It is a default that nobody owns, so first apply the manifest with type: {before} and {sibling}: {live};"
        " then change the type and leave {sibling} out."
    ),
    Advice.SIBLING_REPLACE: "{owners} owns it, so it stays: delete the object and create it again.",
    Advice.REPLICAS_OMIT: "Leave replicas out of the manifest: its value stays.",
    Advice.REPLICAS_OMIT_NEW: "Leave replicas out of the manifest: the autoscaler sets it.",
    Advice.REPLICAS_KEEP: "Keep replicas: {live} in the manifest for now.",
    Advice.REPLICAS_HAND_OVER: (
        "You own the field alone. To hand it over, first apply a manifest with nothing but replicas: {live} as field"
        " manager handover-to-hpa, then leave replicas out of your manifest."
    ),
    Advice.REPLICAS_FORGET: (
        "To leave it to the autoscaler, first remove replicas from the last-applied configuration"
        " (kubectl apply edit-last-applied), then leave it out of the manifest."
    ),
    Advice.RECREATE: "Delete the object and create it again.",
    Advice.APPLY_SERVER_SIDE: "Server-side apply needs no such annotation.",
}
