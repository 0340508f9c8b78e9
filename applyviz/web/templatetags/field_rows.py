"""Fragments of a field's row that long pages repeat: its strip, its owners, its line, and what opening it shows.

Each is a separate template; `skeletons.py` renders it once per form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.utils.safestring import SafeString

from applyviz.engine.objects.structs import replace
from applyviz.web.templatetags import skeletons
from applyviz.web.templatetags.skeletons import TextMark

register = template.Library()


def _form_of(strip: Any) -> tuple[object, ...]:
    shapes = tuple((one.shape, one.at, one.is_value) for one in (*strip.stations, strip.after))
    return strip.tone, strip.base, strip.line, strip.outcome, strip.is_by_server, shapes


@register.simple_tag
def field_strip(strip: Any) -> SafeString:
    """Draw the strip of a row."""
    return skeletons.draw(
        "components/_field_strip.html",
        _form_of(strip),
        (strip.label,),
        lambda marks: {"strip": replace(strip, label=marks[0])},
    )


def opened_strip(strip: Any) -> SafeString:
    """Draw the strip as opening a row shows it, with its values; its labels are always the same four."""
    stations = (*strip.stations, strip.after)

    def put(marks: Sequence[TextMark]) -> dict[str, object]:
        *first, after = (replace(one, text=mark) for one, mark in zip(stations, marks, strict=True))
        return {"strip": replace(strip, stations=tuple(first), after=after)}

    return skeletons.draw("components/_field_strip_opened.html", _form_of(strip), [one.text for one in stations], put)


def _name(owners: Sequence[Any]) -> tuple[object, ...]:
    return tuple((*one.identity, one.is_update, one.is_you, one.has_twin) for one in owners)


@register.simple_tag
def ownership(row: Any) -> SafeString:
    """Show the owners of a field before and, where they change, after; the same few own most fields of a plan."""
    form = (_name(row.owners_before), _name(row.owners_after), row.has_owner_change)
    return skeletons.draw("components/_ownership.html", form, (), lambda _marks: {"row": row})


@register.simple_tag
def small_diff_line(line: Any) -> SafeString:
    """Show a line of a diff that is one column without numbers and owners; long values have dozens of them."""
    side = line.shown
    parts, note = (side.parts, side.note) if side is not None else ((), "")
    form = (bool(line.fold), line.state, bool(note), tuple(part.is_changed for part in parts))

    def put(marks: Sequence[TextMark]) -> dict[str, object]:
        fold, indent, below, *texts = marks
        shown = {
            "indent": indent,
            "note": below if note else "",
            "parts": [{"text": t, "is_changed": part.is_changed} for t, part in zip(texts, parts, strict=True)],
        }
        about = {"fold": fold if line.fold else "", "state": line.state, "sign": line.sign, "shown": shown}
        return {"line": about}

    texts = (line.fold, "" if side is None else side.indent, note, *(part.text for part in parts))
    return skeletons.draw("components/_small_diff_line.html", form, texts, put)


def _unresolved_owners(row: Any) -> SafeString:
    form = _name(row.owners_before)
    return skeletons.draw("reviews/changes/_unresolved_owners.html", form, (), lambda _marks: {"row": row})


@register.simple_tag
def change_summary(flat: Any) -> SafeString:
    """Show the line of a field: its path, its values, its strip, its owners."""
    row, move = flat.row, flat.move
    owners = _unresolved_owners(row) if row.is_conflict else ownership(row)
    moved = None if move is None else (bool(move.shared), move.before is None, move.after is None)
    form = (row.is_conflict, row.is_changed, moved, bool(flat.note))
    values = ("", "", "") if move is None else (move.shared, move.before, move.after)

    def put(marks: Sequence[TextMark]) -> dict[str, object]:
        path, parent, leaf, sign, word, summary, note, strip, of, shared, before, after = marks
        shown = None
        if move is not None:
            shown = {
                "shared": shared if move.shared else "",
                "before": None if move.before is None else before,
                "after": None if move.after is None else after,
            }
        style = {"word": word}
        fields = {"path": path, "style": style, "is_conflict": row.is_conflict, "is_changed": row.is_changed}
        about = {"parent": parent, "leaf": leaf, "sign": sign, "summary": summary, "note": note if flat.note else ""}
        return {"flat": {**about, "move": shown, "row": fields}, "row": fields, "strip": strip, "owners": of}

    texts = (row.path, flat.parent, flat.leaf, flat.sign, row.style.word, flat.summary, flat.note)
    return skeletons.draw(
        "reviews/changes/_summary.html", form, (*texts, field_strip(flat.strip), owners, *values), put
    )


@register.simple_tag
def opened_field(flat: Any, one: Any, resolution: Any) -> SafeString:
    """Show what opening a field shows: its strip, the rule, its versions."""
    row = flat.row
    proposes = bool(row.can_ignore and resolution.propose_url)
    versions = tuple((None if v.value is None else v.value.is_cut) for v in row.versions)
    is_shown = row.is_conflict or row.index == one.content.linked
    links = (one.links.has_comments, is_shown)
    form = (row.is_conflict, len(row.conflicts), bool(row.position), proposes, flat.has_long, links, versions)

    def put(marks: Sequence[TextMark]) -> dict[str, object]:
        picture, why, position, index, about, link, propose, *rest = marks
        names, rest = rest[: len(versions)], rest[len(versions) :]
        values, conflicts = rest[: len(versions)], rest[len(versions) :]
        named = [
            {"name": name, "value": None if is_cut is None else {"text": value, "is_cut": is_cut}}
            for name, value, is_cut in zip(names, values, versions, strict=True)
        ]
        fields = {
            "why": why,
            "conflicts": conflicts,
            "position": position if row.position else "",
            "index": index,
            "can_ignore": proposes,
            "versions": named,
            "is_conflict": row.is_conflict,
            "about_url": about,
        }
        return {
            "flat": {"has_long": flat.has_long},
            "row": fields,
            "opened": picture,
            "link": link,
            "has_comments": one.links.has_comments,
            "is_shown": is_shown,
            "resolution": {"propose_url": propose if proposes else ""},
        }

    link = one.link_field(row.index)
    texts = (opened_strip(flat.opened), row.why, row.position, row.index, row.about_url, link)
    names, values = (v.name for v in row.versions), ("" if v.value is None else v.value.text for v in row.versions)
    texts = (*texts, resolution.propose_url, *names, *values, *row.conflicts)
    return skeletons.draw("reviews/changes/_opened.html", form, texts, put)
