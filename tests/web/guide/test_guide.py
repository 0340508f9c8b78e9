"""The guide: every page is drawn with answers that are computed, and leads to the playground."""

import pytest
from django.urls import reverse

from applyviz.guide import library
from applyviz.guide.finding import find_pages
from applyviz.guide.opening import open_channel, open_set
from applyviz.guide.pages import PagePart

NAMES = [entry.page.name for entry in library.list_entries()]


def page_url(name: str) -> str:
    return reverse("guide:show-page", args=[name])


def test_index_asks_the_question_of_every_page(client, db):
    text = client.get(reverse("guide:show-guide")).content.decode()

    assert [name for name in NAMES if f'href="{page_url(name)}"' not in text] == []
    assert "Who owns the fields of an object that was never applied?" in text


@pytest.mark.parametrize("name", NAMES)
def test_page_draws_each_example_and_opens_it(client, db, name):
    answer = client.get(page_url(name))
    text = answer.content.decode()
    examples = library.find_entry(name).examples

    assert answer.status_code == 200
    tables = [one for one in examples.values() if one.find(PagePart.TABLE) is not None]
    assert text.count("What happens</h3>") == len(examples) - len(tables)
    assert text.count('<table class="merge-table"') == text.count('<details class="rest">') == len(tables)
    opened = [key for key in examples if f'href="{reverse("playground:show-answer", args=[key])}"' in text]
    assert opened == [key for key, example in examples.items() if not example.is_set]
    sets = [key for key, example in examples.items() if open_set(example) is not None]
    assert [key for key in examples if f'href="{reverse("playground:show-set", args=[key])}"' in text] == sets
    channels = [key for key, example in examples.items() if open_channel(example) is not None]
    assert [key for key in examples if f'href="{reverse("playground:show-channel", args=[key])}"' in text] == channels
    without = [example for example in examples.values() if example.is_set]
    assert text.count("No form: ") == len(without) - len(tables) - len(sets) - len(channels)
    assert text.count("Each row is a separate input") == len(tables)
    assert ".md)" not in text


def test_answers_are_computed_when_the_page_is_drawn(client, db):
    text = client.get(page_url("conflicts")).content.decode()

    assert "conflict with &quot;platform&quot;: .data.theme" in text
    # four times it applies, and twice it is an owner afterwards
    assert text.count('<b class="mono">platform</b>') == 6


def test_rules_stand_in_a_table(client, db):
    text = client.get(page_url("fields")).content.decode()

    assert "<td>set to the manifest's value</td>" in text


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("managedFields", "clearing"),
        ("User-Agent", "managers"),
        ("tolerations", "books"),
        ("finalizers", "lists-of-values"),
        ("HPA replicas", "autoscaler"),
        ("retainKeys", "life"),
        ("Quantities", "quantities"),
        ("x-kubernetes-list-map-keys", "topology"),
        ("kubectl-last-applied", "migration"),
    ],
)
def test_page_is_found_by_a_word_that_people_know(client, db, words, name):
    text = client.get(reverse("guide:show-guide"), {"q": words}).content.decode()
    found = [one for one in NAMES if f'href="{page_url(one)}"' in text]

    assert name in found
    assert len(found) < len(NAMES) / 2


WORDS = [(word, entry.page.name) for entry in library.list_entries() for word in entry.keywords]


@pytest.mark.core(24)
@pytest.mark.parametrize(("word", "name"), WORDS)
def test_page_is_found_by_each_of_its_words_before_pages_that_only_mention_it(word, name):
    found = find_pages(word)
    named = [one.entry.page.name for one in found if word in one.entry.keywords]

    assert name in named
    assert [one.entry.page.name for one in found][: len(named)] == named


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("overwrite", "conflicts"),
        ("take over", "conflicts"),
        ("force", "conflicts"),
        ("drift", "handing-fields"),
        ("merge key", "lists-by-key"),
        ("strategic", "lists-by-key"),
        ("SSA", "server-side"),
        ("csa vs ssa", "comparison"),
        ("hpa", "autoscaler"),
        ("owner", "server-side"),
        ("helm", "rendering"),
        ("gitops", "following"),
        ("null", "empty-values"),
        ("kustomize", "rendering"),
        ("crd", "json-merge"),
        ("migrate", "migration"),
    ],
)
def test_word_of_a_reader_leads_to_the_page_about_it(words, name):
    assert name in [one.entry.page.name for one in find_pages(words)[:5]]


def test_short_word_is_found_as_a_whole_only():
    """Many words contain `ec`, and none is it."""
    assert "quantities" in [one.entry.page.name for one in find_pages("cpu")]
    assert find_pages("ec") == ()


@pytest.mark.parametrize("entry", library.list_entries(), ids=lambda entry: entry.page.name)
def test_page_begins_with_one_sentence_then_an_example_then_the_rule(client, db, entry):
    page = entry.page
    text = client.get(page_url(page.name)).content.decode()
    lead, example, rule = (
        text.index(mark) for mark in ('class="prose lead"', 'class="example panel"', 'id="rule-title"')
    )

    assert page.lead.endswith(".")
    assert 20 < len(page.lead) < 240
    assert lead < example < rule
    assert text.count('class="example panel"', 0, rule) == 1


def test_found_pages_stand_in_order_with_the_sentence(client, db):
    text = client.get(reverse("guide:show-guide"), {"q": "conflict force"}).content.decode()

    assert text.index(f'href="{page_url("conflicts")}"') < text.index(f'href="{page_url("managers")}"')
    assert "There are three resolutions: overwrite the field (force)" in text


def test_search_without_a_result_says_so(client, db):
    text = client.get(reverse("guide:show-guide"), {"q": "<b>nonsense"}).content.decode()

    assert "No page contains all words of “&lt;b&gt;nonsense”." in text
    assert '<ol class="questions" role="list">' in text
    assert client.get(reverse("guide:show-guide"), {"q": "x" * 201}).status_code == 200


def test_unknown_page_is_not_found(client, db):
    assert client.get(page_url("nonsense")).status_code == 404


def test_guide_takes_no_other_method(client, db):
    assert client.post(page_url("maps")).status_code == 405
