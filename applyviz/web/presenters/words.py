"""Sentences of the engine in the language of the page: it gives templates and facts, here they are translated."""

from __future__ import annotations

from django.utils.translation import gettext

from applyviz.engine.explain.reasons import FieldReason
from applyviz.engine.explain.sentences import find_sentence
from applyviz.engine.hazards import sentences
from applyviz.engine.hazards.model import Hazard, HazardKind


def say_reason(reason: FieldReason) -> str:
    """Why a field is as it will be."""
    sentence = find_sentence(reason)
    return gettext(sentence.template).format(**sentence.facts)


def say_hazard(hazard: Hazard) -> str:
    """What a reviewer must know, with its field in front."""
    return sentences.render_hazard(hazard, gettext)


def title_hazard(hazard: Hazard) -> str:
    """A few words for one hazard."""
    return gettext(sentences.title_of(hazard))


def title_kind(kind: HazardKind) -> str:
    """A few words for a kind of hazards."""
    return gettext(sentences.title(kind))
