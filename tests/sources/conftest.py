"""Tests of sources start their children as the product does."""

import pytest


@pytest.fixture(autouse=True)
def _real_children(real_children: None) -> None:
    """Every test here."""
