"""A file named in place of its folder: the index of a chart repository, the file of a kustomization."""

from __future__ import annotations

import pytest

from applyviz.engine.objects.errors import SourceError
from applyviz.sources.kustomization import check_kustomization
from tests.sources.test_charts import SHOP_ARCHIVE, fetch, origin  # noqa: F401 - a fixture


@pytest.mark.parametrize("path", ["/repo/index.yaml", "/repo/", "/repo"])
def test_index_of_a_chart_repository_may_be_named(origin: str, path: str) -> None:  # noqa: F811 - a fixture
    assert fetch(origin, chart="shop", repository=f"{origin}{path}", version="1.2.3").archive == SHOP_ARCHIVE


def test_repository_without_an_index_is_the_field(origin: str) -> None:  # noqa: F811 - a fixture
    with pytest.raises(SourceError, match=r"the index\.yaml of the chart repository: .* answered 404") as caught:
        fetch(origin, chart="shop", repository=f"{origin}/gone", version="1.2.3")
    assert caught.value.field == "chart_repository"


@pytest.mark.parametrize("name", ["k/kustomization.yaml", "Kustomization"])
def test_file_of_a_kustomization_leads_to_its_folder(name: str) -> None:
    with pytest.raises(SourceError, match="is the file of a kustomization: name its folder"):
        check_kustomization({name: b"resources: []"}, name)
