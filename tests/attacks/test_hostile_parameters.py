"""No parameter of an address gives an internal error: every address, every parameter, values that no form expects."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from django.forms import BaseForm
from django.test import Client
from django.urls import get_resolver

from applyviz.records.enums import Role
from tests.attacks.test_identical_pages import READ, World, make_token
from tests.builders import make_person
from tests.stories import Team, config_map

pytestmark = [pytest.mark.attacks, pytest.mark.django_db]
# Parameters that views read without a form.
PLAIN = {
    "page",
    "repository",
    "next",
    "field",
    "bar",
    "again",
    "after",
    "q",
    "find",
    "line",
    "object",
    "first",
    "second",
}
HOSTILE = {
    "nul": "\x00",
    "huge": "9" * 400,
    "negative": "-99999999999999999999",
    "float": "1e309",
    "word": "constructor",
    "long": "a" * 3_000,
    "array": '["a",{"b":1}]',
    "path": "../../etc/passwd",
    "signs": "'\"<>%{}()[]\\;|&\u202e\ufffd",
    "digits": "\u0663\u00b2",
    "time": "9999-12-31T23:59:59.999999+23:59",
    "uuid": "00000000-0000-0000-0000-00000000000g",
    "empty": "",
    "surrogate": "\udcff",
}


def list_forms(cls: type[BaseForm] = BaseForm) -> Iterator[type[BaseForm]]:
    for one in cls.__subclasses__():
        yield one
        yield from list_forms(one)


def list_parameters() -> list[str]:
    """The fields of every form of the product, and what views read without one."""
    get_resolver().url_patterns  # noqa: B018 - imports every view, and so every form
    named = (one for one in list_forms() if one.__module__.startswith("applyviz."))
    return sorted(PLAIN.union(*(getattr(one, "base_fields", {}) for one in named)))


@pytest.fixture
def world(team: Team) -> World:
    run = team.apply(config_map(a="1"))
    second, third = team.plan(config_map(a="2")), team.plan(config_map("other", a="2"))
    return World(team, [run.plan, second, third], [run])


def list_addresses(world: World) -> list[tuple[str, str]]:
    return [(name, address) for name, write in READ.items() for address in list(dict.fromkeys(write(world)))[:1]]


def ask(world: World, queries: dict[str, str], *, is_each: bool = True) -> list[str]:
    """Return the addresses and queries that give an internal error, by name: each with each, or with one of them."""
    reader = make_person("reader", *Role)
    pages, token = Client(raise_request_exception=False), make_token(reader)
    pages.force_login(reader)
    found = []
    for number, (name, address) in enumerate(list_addresses(world)):
        given = {"HTTP_AUTHORIZATION": f"Bearer {token}"} if name.startswith("api:") else {}
        asked = list(queries.items())
        for label, query in asked if is_each else asked[number % len(asked) :][:1]:
            answer = pages.get(f"{address.partition('?')[0]}?{query}", **given)
            found += [f"{name} {label}: {answer.status_code}"] if answer.status_code >= 500 else []
    return found


def write_query(pairs: list[tuple[str, str]]) -> str:
    return urlencode([(name, value.encode("utf-8", "surrogateescape")) for name, value in pairs])


def test_the_list_of_parameters_is_not_empty() -> None:
    assert len(list_parameters()) > 40


def test_one_value_per_address_gives_no_internal_error(world: World) -> None:
    """All parameters at once, with another value at each address."""
    parameters = list_parameters()
    queries = {kind: write_query([(name, value) for name in parameters]) for kind, value in HOSTILE.items()}

    assert ask(world, queries, is_each=False) == []


@pytest.mark.core(1)
@pytest.mark.parametrize("kind", HOSTILE)
def test_no_value_gives_an_internal_error(world: World, kind: str) -> None:
    """All parameters at once, and each of them twice."""
    pairs = [(name, HOSTILE[kind]) for name in list_parameters()]

    assert ask(world, {kind: write_query(pairs), f"{kind} twice": write_query([*pairs, *pairs])}) == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(8))
def test_no_parameter_alone_gives_an_internal_error(world: World, part: int) -> None:
    """A form that refuses one parameter does not look at others: each alone, with one of the values."""
    kinds = list(HOSTILE)
    given = [(name, kinds[n % len(kinds)]) for n, name in enumerate(list_parameters())]
    queries = {f"{name}={kind}": write_query([(name, HOSTILE[kind])]) for name, kind in given[part::8]}

    assert ask(world, queries) == []
