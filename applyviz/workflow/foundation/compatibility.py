"""While an installation is upgraded, a worker may meet what a newer version stored: it leaves that alone.

A newer worker takes it up. What cannot be read cannot be carried out as it was agreed, so nothing of it is tried.
"""

from __future__ import annotations

from applyviz.engine.planning.digest.serialize import FORMAT
from applyviz.records.models import Plan


def find_newer_plan(plan: Plan) -> str:
    """Why a plan is not for a worker of this version; "" when it is."""
    found = plan.options.get("format")
    if isinstance(found, int) and found > FORMAT:
        return f"plan {plan.pk} was stored by a newer version (format {found}, this one knows {FORMAT})"
    return ""
