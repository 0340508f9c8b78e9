"""The texts of a risk, from what its kind declares: its title, and its sentences filled in with its facts.

The sentences are for people who know YAML and not the merge rules; facts never contain values of Secrets, so no
sentence does.
"""

from __future__ import annotations

from collections.abc import Callable

from applyviz.engine.objects.paths import render_path
from applyviz.engine.risks.model import Risk, RiskKind, RiskLevel, Templates


def title(kind: RiskKind, level: RiskLevel | None = None) -> str:
    """Return a short title for lists and badges; some kinds have another title at the high level."""
    return (level is RiskLevel.HIGH and kind.loud_title) or kind.title


def title_of(risk: Risk) -> str:
    """Return the short title of one risk."""
    return title(risk.kind, risk.level)


def find_templates(risk: Risk) -> Templates:
    """Return the sentences of a risk before its facts are filled in, so that a page can translate them."""
    sentence = risk.kind.sentence
    return (sentence,) if isinstance(sentence, str) else sentence(risk.facts)


def describe_risk(risk: Risk, translate: Callable[[str], str] = str) -> str:
    """Return the sentences of a risk, without its field; `translate` gets each template."""
    return " ".join(translate(template).format_map(risk.facts) for template in find_templates(risk))


def render_risk(risk: Risk, translate: Callable[[str], str] = str) -> str:
    """Return the sentences of a risk, preceded by its field if it has one."""
    where, text = render_path(risk.path), describe_risk(risk, translate)
    return f"{where}: {text}" if where else text
