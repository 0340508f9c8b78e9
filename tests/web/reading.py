"""Pages as a reader without a browser finds them: elements, their text, and where links lead."""

from __future__ import annotations

from collections.abc import Iterator

from django.test import Client
from django.test.html import Element, parse_html


def walk(element: Element, above: tuple[Element, ...] = ()) -> Iterator[tuple[Element, tuple[Element, ...]]]:
    """Every element with those around it, the outermost first."""
    yield element, above
    for child in element.children:
        if isinstance(child, Element):
            yield from walk(child, (*above, element))


def read(client: Client, address: str) -> Element:
    """The parsed page at an address."""
    return parse_html(client.get(address).content.decode().replace("<!DOCTYPE html>", ""))


def attribute(element: Element, name: str) -> str | None:
    """The value of an attribute; None where it is missing."""
    return next((value or "" for found, value in element.attributes if found == name), None)


def text_of(element: Element) -> str:
    """All text of an element, with single spaces."""
    return " ".join(" ".join(text_of(c) if isinstance(c, Element) else str(c) for c in element.children).split())


_BLOCKS = (
    *("section", "header", "nav", "form", "details", "summary", "legend"),
    *("h1", "h2", "h3", "h4", "p", "li", "tr", "dt"),
)


def lines_of(element: Element) -> str:
    """All text of an element as people read it, a line for each block."""
    parts = []
    for child in element.children:
        text = lines_of(child) if isinstance(child, Element) else " ".join(str(child).split())
        is_block = isinstance(child, Element) and child.name in _BLOCKS
        parts.append(f"\n{text}\n" if is_block else text)
    return "\n".join(line.strip() for line in " ".join(filter(None, parts)).splitlines() if line.strip())


def find_all(root: Element, name: str, *, has: str = "") -> list[Element]:
    """The elements of a name that have an attribute, in their order."""
    return [e for e, _above in walk(root) if e.name == name and (not has or attribute(e, has) is not None)]


def follow(client: Client, page: Element, text: str) -> tuple[Element, tuple[Element, ...]]:
    """The page that the link with this text leads to, and the element at its anchor with those around it."""
    (address,) = {attribute(a, "href") for a in find_all(page, "a") if text_of(a) == text}
    address, _hash, anchor = (address or "").partition("#")
    target = read(client, address)
    found = [(*above, element) for element, above in walk(target) if anchor and attribute(element, "id") == anchor]
    return target, found[0] if found else ()
