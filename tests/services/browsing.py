"""Somebody with a browser, reduced to what a form needs: cookies, the token against forgery, and where it leads."""

from __future__ import annotations

import re
import urllib.request
from http.client import HTTPResponse
from http.cookiejar import CookieJar
from urllib.parse import urlencode


class Browser:
    """A session with a team installation; `page` is what it saw last, `address` where that was."""

    def __init__(self, port: int) -> None:
        self._root, self._cookies = f"http://127.0.0.1:{port}", CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._cookies))
        self.page = self.address = ""

    def get(self, path: str) -> str:
        """Open an address; raises `HTTPError` for a refusal."""
        return self._open(urllib.request.Request(self._root + path))

    def post(self, path: str, **fields: str) -> str:
        """Send a form, and go where it leads."""
        token = next((cookie.value for cookie in self._cookies if cookie.name == "applyviz_csrf"), "") or ""
        data = urlencode({"csrfmiddlewaretoken": token, **fields}).encode()
        return self._open(urllib.request.Request(self._root + path, data, {"Origin": self._root}))

    def send(self, path: str, files: dict[str, str], **fields: str) -> str:
        """Send a form with uploaded manifests, and go where it leads."""
        token = next((cookie.value for cookie in self._cookies if cookie.name == "applyviz_csrf"), "") or ""
        mark = "form-of-a-browser"
        parts = [
            f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'
            for name, value in {"csrfmiddlewaretoken": token, **fields}.items()
        ]
        parts += [
            f'Content-Disposition: form-data; name="manifests"; filename="{name}"\r\n\r\n{text}'
            for name, text in files.items()
        ]
        data = "".join(f"--{mark}\r\n{part}\r\n" for part in parts) + f"--{mark}--\r\n"
        head = {"Origin": self._root, "Content-Type": f"multipart/form-data; boundary={mark}"}
        return self._open(urllib.request.Request(self._root + path, data.encode(), head))

    def find(self, pattern: str) -> str:
        """What the first group of a pattern is on the page."""
        found = re.search(pattern, self.page)
        assert found, f"{pattern} is not at {self.address}"
        return found[1]

    def open_stream(self, path: str) -> HTTPResponse:
        """Open an answer that does not end, and read its first line; the caller closes it."""
        answer: HTTPResponse = self._opener.open(urllib.request.Request(self._root + path), timeout=60)
        assert answer.readline()
        return answer

    def sign_in(self, name: str, password: str) -> None:
        """Sign in; the next page is home."""
        self.get("/login/")
        self.post("/login/", username=name, password=password)
        assert "/login/" not in self.address

    def _open(self, request: urllib.request.Request) -> str:
        with self._opener.open(request, timeout=60) as answer:
            self.page, self.address = answer.read().decode().replace("<wbr>", ""), answer.url.removeprefix(self._root)
        return self.page
