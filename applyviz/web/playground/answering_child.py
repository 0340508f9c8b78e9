"""The disposable process that answers one question of the playground: imports first, then limits, then bytes.

Only `answers` runs it. Any effect of a text on parser, engine, masking or templates stays in this process. It knows no
setting of the installation: no key and no database.
"""

from __future__ import annotations

import gc
import json
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import django
from django.conf import settings

from applyviz.sources.child import limit_self

_TAGS = ("applyviz", "field_rows")
_TEMPLATES = {
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "DIRS": [Path(__file__).resolve().parents[3] / "templates"],
    "OPTIONS": {"libraries": {name: f"applyviz.web.templatetags.{name}" for name in _TAGS}},
}
# The components import modules that define models.
_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "applyviz.records"]


@cache
def load() -> dict[str, ModuleType]:
    """Load everything that an answer needs; return the modules that answer, by what a question is about.

    - The schemas and templates that most answers need are loaded too.
    """
    settings.configure(INSTALLED_APPS=_APPS, TEMPLATES=[_TEMPLATES], LANGUAGE_CODE="en", USE_TZ=True)
    django.setup()
    found = {
        "object": import_module("applyviz.web.playground.answering"),
        "set": import_module("applyviz.web.playground.set_answering"),
        "channel": import_module("applyviz.web.playground.channel_answering"),
    }
    found["object"].prepare()
    return found


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Answer the one question on the input line."""
    answering = load()
    asked = json.loads(source.readline())
    gc.disable()  # a short-lived process does not need collection
    limit_self(asked["memory_bytes"], asked["cpu_seconds"])
    target.write(json.dumps(answering[asked["about"]].answer(asked)).encode())
    target.flush()
