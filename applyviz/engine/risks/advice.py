"""The closed list of advice that risks give, each with its sentence.

Advice is a promise like any other statement, so a test carries out each kind, on a sandbox and on a real API server
(`tests/engine/planning/advice.py`). Sentences that only describe are in `sentences.py`.
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
    PUT_BACK = "put-back"
    RECREATE = "re-create"
    APPLY_SERVER_SIDE = "apply-server-side"


ADVICE: dict[Advice, str] = {
    Advice.QUOTE: "Quote it if it is meant as text.",
    Advice.QUOTE_DATE: "Quote it: other tools may not keep it as text.",
    Advice.USE_VERSION: "Use {instead}.",
    Advice.SIBLING_NULL: "Write {field}: null in the manifest.",
    Advice.SIBLING_REMOVE: "Remove {field} from the manifest.",
    Advice.SIBLING_OWN: (
        "It is a default without an owner, so first apply the manifest with type: {before} and {sibling}: {live}; "
        "then change the type and leave out {sibling}."
    ),
    Advice.SIBLING_REPLACE: "{owners} owns it, so it is kept: delete the object and re-create it.",
    Advice.REPLICAS_OMIT: "Remove replicas from the manifest; the live value is kept.",
    Advice.REPLICAS_OMIT_NEW: "Remove replicas from the manifest; the autoscaler sets it.",
    Advice.REPLICAS_KEEP: "Keep replicas: {live} in the manifest for now.",
    Advice.REPLICAS_HAND_OVER: (
        "You are the only owner of this field. To hand it over, first apply a manifest that contains only "
        "replicas: {live} as field manager handover-to-hpa, then remove replicas from your manifest."
    ),
    Advice.REPLICAS_FORGET: (
        "To let the autoscaler manage it, first remove replicas from the last-applied annotation (kubectl apply "
        "edit-last-applied), then remove it from the manifest."
    ),
    Advice.PUT_BACK: "Put the live value back into the manifest.",
    Advice.RECREATE: "Or delete the object and re-create it.",
    Advice.APPLY_SERVER_SIDE: "Server-side apply does not need this annotation.",
}
