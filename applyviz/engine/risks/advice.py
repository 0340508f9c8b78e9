"""The closed list of advice that risks give, each with its sentence.

Advice is a promise like any other statement, so a test carries out each kind, on a sandbox and on a real API server
(`tests/engine/planning/advice.py`). Sentences that only describe are in the modules of the risks.
"""

from __future__ import annotations

from enum import Enum


class Advice(Enum):
    """What to do about a risk, as pages say it."""

    QUOTE = "Quote it if it is meant as text."
    QUOTE_DATE = "Quote it: other tools may not keep it as text."
    USE_VERSION = "Use {instead}."
    SIBLING_NULL = "Write {field}: null in the manifest."
    SIBLING_REMOVE = "Remove {field} from the manifest."
    SIBLING_OWN = (
        "It is a default without an owner, so first apply the manifest with type: {before} and {sibling}: {live}; "
        "then change the type and leave out {sibling}."
    )
    SIBLING_REPLACE = "{owners} owns it, so it is kept: delete the object and re-create it."
    REPLICAS_OMIT = "Remove replicas from the manifest; the live value is kept."
    REPLICAS_OMIT_NEW = "Remove replicas from the manifest; the autoscaler sets it."
    REPLICAS_KEEP = "Keep replicas: {live} in the manifest for now."
    REPLICAS_HAND_OVER = (
        "You are the only owner of this field. To hand it over, first apply a manifest that contains only "
        "replicas: {live} as field manager handover-to-hpa, then remove replicas from your manifest."
    )
    REPLICAS_FORGET = (
        "To let the autoscaler manage it, first remove replicas from the last-applied annotation (kubectl apply "
        "edit-last-applied), then remove it from the manifest."
    )
    PUT_BACK = "Put the live value back into the manifest."
    RECREATE = "Or delete the object and re-create it."
    APPLY_SERVER_SIDE = "Server-side apply does not need this annotation."
