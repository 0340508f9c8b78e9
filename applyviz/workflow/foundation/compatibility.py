"""Compatibility during upgrades: a worker does not touch what a newer version stored.

A newer worker resumes it. A plan that cannot be read completely cannot run as approved, so nothing of it is tried.
"""

from __future__ import annotations

from applyviz.engine.planning.digest.serialize import FORMAT
from applyviz.records.models import Plan


def find_newer_plan(plan: Plan) -> str:
    """Return why a worker of this version must not run a plan; "" when it may."""
    found = plan.options.get("format")
    if isinstance(found, int) and found > FORMAT:
        return f"plan {plan.pk} was stored by a newer version (format {found}, this one knows {FORMAT})"
    return ""
