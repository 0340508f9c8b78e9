"""What every attack starts from: a team, a sandbox as the cluster, and everything that the installation stores."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from django.apps import apps

from applyviz.records.fields import SealedField
from tests.following import make_begun, make_people, make_session_authority, make_stage  # noqa: F401 - fixtures
from tests.stories import Team


def list_stored() -> Iterator[tuple[str, str]]:
    """Every value of every column that is not sealed, as (table.column, text)."""
    for model in apps.get_app_config("records").get_models():
        names = [f.attname for f in model._meta.concrete_fields if not isinstance(f, SealedField)]
        for values in model._default_manager.values_list(*names):
            for name, value in zip(names, values, strict=True):
                yield f"{model.__name__}.{name}", value if isinstance(value, str) else json.dumps(value, default=str)


def forms_of(canary: str) -> tuple[str, ...]:
    """A value as it is, and as it would be written elsewhere."""
    raw = canary.encode()
    return canary, base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode(), raw.hex()


def find_leaks(canary: str, stored: Iterator[tuple[str, str]] | None = None) -> list[str]:
    """Where a value, or eight characters of one of its forms, is readable."""
    runs = {form[n : n + 8] for form in forms_of(canary) for n in range(len(form) - 7)}
    return sorted({where for where, text in stored or list_stored() if any(run in text for run in runs)})


@pytest.fixture
def team(db) -> Team:
    """Alice writes, Bob approves; nothing is planned yet."""
    return Team()


@pytest.fixture
def step(request: pytest.FixtureRequest) -> int:
    """A crawl reads one address of so many: of ten in every run, each one in the breadth."""
    return 1 if request.node.get_closest_marker("long") else 10
