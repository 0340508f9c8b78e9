"""The forms of a page as a browser would send them, filled in: what is given in them, and a word where nothing is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

FILLED = {
    "number": "1",
    "password": "x",
    "email": "a@b.example",
    "date": "2030-01-01",
    "datetime-local": "2030-01-01T00:00",
}
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n"


@dataclass
class PostedForm:
    """One form: how and where it is sent, and what it sends.

    - `buttons`: the name and value, and the address if it has one, of each button; the form is sent once with each.
    """

    address: str
    is_post: bool
    given: dict[str, Any] = field(default_factory=dict)
    buttons: list[tuple[str, str, str]] = field(default_factory=list)

    def list_requests(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the address and the content of each request."""
        for name, value, address in self.buttons or [("", "", "")]:
            yield address or self.address, {**self.given, **({name: value} if name else {})}

    def send(self, client: Client, address: str, given: dict[str, Any]) -> Any:
        """Send it, and follow where it leads."""
        files = {
            name: SimpleUploadedFile("a.yaml", MANIFEST.encode()) for name, value in given.items() if value is None
        }
        send = client.post if self.is_post else client.get
        return send(address, {**given, **files}, follow=True)


class FormReader(HTMLParser):
    """Reads the forms of a page, with the fields that name a form from elsewhere on the page."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address, self.forms = address, list[PostedForm]()
        self._by_id: dict[str, PostedForm] = {}
        self._form: PostedForm | None = None
        self._text: tuple[PostedForm, str] | None = None
        self._select: tuple[PostedForm, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a form or one of its fields."""
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._begin(given)
            return
        # A field may stand before the form that it names.
        form = self._by_id.setdefault(given["form"], PostedForm("", False)) if "form" in given else self._form
        if form is None:
            return
        name = given.get("name", "")
        if tag == "button" and given.get("type", "submit") == "submit":
            address = urljoin(self.address, given["formaction"]) if "formaction" in given else ""
            form.buttons.append((name, given.get("value", ""), address))
        elif tag == "input" and name:
            self._note_input(form, name, given)
        elif tag == "textarea" and name:
            form.given[name] = ""
            self._text = form, name
        elif tag == "select" and name:
            self._select = form, name
        elif tag == "option" and self._select is not None:
            chosen, known = self._select
            if known not in chosen.given or "selected" in given:
                chosen.given[known] = given.get("value", "")

    def handle_data(self, data: str) -> None:
        """Keep the text of a field."""
        if self._text is not None:
            form, name = self._text
            form.given[name] += data

    def handle_endtag(self, tag: str) -> None:
        """End a form or a field."""
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = None
        elif tag == "textarea" and self._text is not None:
            form, name = self._text
            form.given[name] = form.given[name].strip() or MANIFEST
            self._text = None

    def _begin(self, given: dict[str, str]) -> None:
        form = self._by_id.setdefault(given.get("id") or f"form {len(self.forms)}", PostedForm("", False))
        form.address = urljoin(self.address, given.get("action", ""))
        form.is_post = given.get("method", "get").lower() == "post"
        self.forms.append(form)
        self._form = form

    def _note_input(self, form: PostedForm, name: str, given: dict[str, str]) -> None:
        kind, value = given.get("type", "text"), given.get("value", "")
        if kind == "file":
            form.given[name] = None
        elif kind == "radio":
            if name not in form.given or "checked" in given:
                form.given[name] = value
        elif kind == "submit":
            form.buttons.append((name, value, ""))
        elif name != "csrfmiddlewaretoken":
            form.given[name] = value or ("on" if kind == "checkbox" else FILLED.get(kind, "seen"))


def list_forms(address: str, page: str) -> list[PostedForm]:
    """Return the forms of a page that lead to this site."""
    reader = FormReader(address)
    reader.feed(page)
    return [form for form in reader.forms if not urlsplit(form.address).netloc]
