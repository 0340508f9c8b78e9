"""Large manifests in a browser: the review opens at once, and its page comes to say what is wrong, file and line."""

import pytest
from playwright.sync_api import expect

from tests.e2e.test_main_job import drop_files

pytestmark = [pytest.mark.e2e, pytest.mark.long]
GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: large-{0}}}\ndata: {{a: '1'}}\n"


@pytest.mark.parametrize("width", [1440, 390])
def test_large_manifests_open_a_review_that_reads_them(sign_in, width):
    page = sign_in("alice")
    page.set_viewport_size({"width": width, "height": 1000})
    text = "---\n".join(map(GOOD.format, range(40))) + "---\nkind: ConfigMap\n  name: x\n" + "# a comment\n" * 12_000
    page.goto("/reviews/new/")
    drop_files(page, {"large.yaml": text})
    page.get_by_label("Title").fill("Large manifests")
    page.get_by_label("Namespace", exact=True).fill("shop")
    with page.expect_navigation(url="**/reviews/*/"):
        page.get_by_role("button", name="Create plan").click()

    expect(page.get_by_text("1 document could not be read")).to_be_visible()
    expect(page.get_by_text("large.yaml:202:7")).to_be_visible()
    expect(page.get_by_role("link", name="Upload new manifests").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
