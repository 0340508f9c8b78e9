"""An object in the list beside a plan, which shows hundreds; `skeletons.py` renders its template once per form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.utils.safestring import SafeString

from applyviz.web.templatetags import skeletons
from applyviz.web.templatetags.skeletons import TextMark

register = template.Library()


def _name_appearance(marks: Sequence[TextMark]) -> dict[str, object]:
    return dict(zip(("tone", "glyph", "word"), marks, strict=True))


@register.simple_tag
def object_item(item: Any) -> SafeString:
    """Show an object: its name and kind, whether it is viewed, its highest risk."""
    has_level = item.level is not None
    form = (item.is_current, item.is_viewed, bool(item.conflicts), bool(item.where), has_level)

    def put(marks: Sequence[TextMark]) -> dict[str, object]:
        position, url, name, kind, short_kind, where, *rest = marks
        shown = {
            "position": position,
            "url": url,
            "name": name,
            "kind": kind,
            "short_kind": short_kind,
            "where": where if item.where else "",
            "style": _name_appearance(rest[:3]),
            "level": _name_appearance(rest[3:]) if has_level else None,
            "is_current": item.is_current,
            "is_viewed": item.is_viewed,
            "conflicts": item.conflicts,
        }
        return {"item": shown}

    looks = [text for one in (item.style, item.level) if one is not None for text in (one.tone, one.glyph, one.word)]
    texts = (item.position, item.url, item.name, item.kind, item.short_kind, item.where, *looks)
    return skeletons.draw("reviews/changes/_item.html", form, texts, put)
