"""The review page in a browser, on real manifests: arrivals, list, fields, diff, requests, owners, versions, plans."""

import re
import subprocess
import time
import zipfile

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import PATIENCE, open_tab, show_alone

pytestmark = pytest.mark.e2e
QUIET, EVERY = 300, 5


def drop_files(page: Page, files: dict[str, str]) -> None:
    """Drop files on the form as a person does."""
    transfer = page.evaluate_handle(
        """files => {
            const transfer = new DataTransfer();
            for (const [name, text] of Object.entries(files)) transfer.items.add(new File([text], name));
            return transfer;
        }""",
        files,
    )
    page.dispatch_event("[data-drop]", "drop", {"dataTransfer": transfer})


def open_review(page: Page, title: str, files: dict[str, str]) -> None:
    """Bring manifests and ask for the plan; it is not waited for."""
    page.goto("/reviews/new/")
    drop_files(page, files)
    expect(page.get_by_text(re.compile("objects found"))).to_be_visible()
    page.get_by_label("Title").fill(title)
    page.get_by_role("button", name="Create plan").click()
    page.wait_for_url(re.compile(r"/reviews/\d+/"))


def wait_for_plan(page: Page) -> None:
    expect(page.locator("[data-stream]")).to_have_count(0)
    open_tab(page, "Changes")
    show_alone(page)


@pytest.fixture(scope="module")
def addresses() -> dict[str, str]:
    """Where the reviews of this module are, so that each is planned once."""
    return {}


@pytest.fixture
def boutique(sign_in, public_manifests, addresses) -> Page:
    """The plan of online-boutique, open."""
    page = sign_in("alice", permissions=["clipboard-read", "clipboard-write"])
    if "boutique" not in addresses:
        text = (public_manifests / "online-boutique" / "v0.10.1.yaml").read_text()
        open_review(page, "Online boutique", {"boutique.yaml": text})
        wait_for_plan(page)
        addresses["boutique"] = page.url
    page.goto(addresses["boutique"])
    return page


def choose(page: Page, kind: str, name: str) -> None:
    """Open one object alone by its kind and name."""
    open_tab(page, "Changes")
    page.locator("[data-find]").fill(f"{kind} {name}")
    expect(page.locator("[data-item]").nth(4)).to_be_hidden()  # an object whose values say so is found as well
    show_alone(page, f"{kind}/{name}")
    expect(page.locator("#pane .object-head")).to_contain_text(name)


def copy(page: Page, name: str) -> str:
    """Press a button that copies; gives the clipboard once the button said so, which it does for a moment only."""
    button = page.get_by_role("button", name=name).element_handle()
    button.evaluate(
        """button => new MutationObserver(() => {
            if (button.textContent === button.dataset.copied) button.setAttribute("data-said-so", "");
        }).observe(button, { childList: true })"""
    )
    button.click()
    page.wait_for_function("button => button.hasAttribute('data-said-so')", arg=button)
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_objects_arrive_by_server_sent_events(sign_in):
    page, began = sign_in("alice"), time.monotonic()
    streams, looks = [], []

    def note(response):
        if "/events/" in response.url:
            streams.append((response.status, response.headers.get("content-type")))
        elif response.request.headers.get("hx-request") and "/plans/1/" in response.url:
            looks.append(response.url)

    page.on("response", note)
    # So many that planning takes many times as long as opening the page.
    names = [f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: streamed-{n}}}\n" for n in range(600)]
    open_review(page, "Many objects", {"many.yaml": "---\n".join(names)})
    wait_for_plan(page)

    assert streams
    assert set(streams) == {(200, "text/event-stream")}
    assert len(looks) <= 6 + (time.monotonic() - began) / EVERY, "it looks when it is told, and from time to time"
    expect(page.locator("#strip .counts")).to_have_attribute("aria-label", re.compile("to create"))


@pytest.mark.long
def test_page_asks_from_time_to_time_where_nothing_streams(sign_in, public_manifests):
    page = sign_in("alice")
    page.route("**/events/**", lambda route: route.fulfill(status=204))
    text = (public_manifests / "online-boutique" / "v0.8.0.yaml").read_text()

    open_review(page, "Without a stream", {"boutique.yaml": text})
    wait_for_plan(page)

    expect(page.locator(".track")).to_contain_text("no open conflicts")


@pytest.mark.long
def test_list_is_narrowed_in_the_address_and_stands_as_a_tree(boutique):
    page = boutique
    open_tab(page, "Changes")
    page.get_by_text("Filters").click()
    page.get_by_label("Kind", exact=True).select_option("Deployment")
    expect(page).to_have_url(re.compile(r"[?&]kind=Deployment"))
    page.get_by_label("By namespace").check()
    expect(page.locator(".branch h3")).to_have_text(["default"])
    expect(page.locator(".branch h4")).to_have_text(["Deployment"])
    shown = page.locator("[data-item]").count()

    page.locator("[data-item] a").nth(1).click()
    expect(page).to_have_url(re.compile(r"/changes/\?kind=Deployment&layout=tree&at=\d+#object-\d+$"))
    page.reload()

    expect(page.locator("[data-item]")).to_have_count(shown)
    expect(page.get_by_label("By namespace")).to_be_checked()


@pytest.mark.long
def test_escape_and_f_do_not_race(boutique):
    page = boutique
    open_tab(page, "Changes")
    expect(page.locator("[data-item]").first).to_be_visible()
    total = page.locator("[data-item]").count()
    for _ in range(3):
        page.keyboard.press("f")
        page.keyboard.type("cartservice")
        page.keyboard.press("Escape")
        page.keyboard.press("f")
        page.keyboard.type("redis")
        expect(page.locator("[data-find]")).to_be_focused()
        expect(page.locator("[data-find]")).to_have_value("redis")
        page.wait_for_timeout(QUIET)
        expect(page.locator(".found")).to_contain_text(re.compile(r"^\s*2 of"))
        page.keyboard.press("Escape")
        expect(page.locator(".found")).to_have_count(0)
    expect(page.locator("[data-item]")).to_have_count(total)


@pytest.mark.long
def test_what_was_clicked_last_is_what_is_shown(boutique):
    page, held, ended = boutique, [], []
    page.route(re.compile("view=diff"), lambda route: held.append(route))
    for event in ("requestfinished", "requestfailed"):
        page.on(event, lambda request: ended.append(request.url) if "view=diff" in request.url else None)
    page.locator(".tabs a", has_text="Diff").click()
    page.locator(".tabs a", has_text="Requests").click()
    expect(page.locator(".tabs a[aria-current]")).to_contain_text("Requests")

    held[0].continue_()  # the answer to the first click comes late, or is no longer wanted
    deadline = time.monotonic() + PATIENCE
    while not ended and time.monotonic() < deadline:
        page.wait_for_timeout(QUIET)
    page.wait_for_timeout(QUIET)

    expect(page.locator(".tabs a[aria-current]")).to_contain_text("Requests")
    expect(page).to_have_url(re.compile("view=requests"))


@pytest.mark.long
def test_versions_stand_side_by_side_and_a_field_tells_all(boutique):
    page = boutique
    choose(page, "Deployment", "frontend")
    page.get_by_role("link", name="Compare values").click()
    heads = ["Field", "Previously owned by you", "manifest", "live", "after"]
    expect(page.locator(".aligned thead th")).to_have_text(heads)
    page.get_by_role("link", name="Compare values").click()

    row = page.locator("[data-field-row]", has_text="image").first
    row.locator("summary").click()

    expect(row.locator(".schema")).to_contain_text("Container image name")
    expect(row.locator(".schema")).to_contain_text("No earlier run changed it on this cluster.")
    expect(row.locator(".opened-field")).to_contain_text(re.compile(r"boutique\.yaml:\d+"))


@pytest.mark.long
def test_requests_can_be_copied_and_kept(boutique):
    page = boutique
    choose(page, "Deployment", "frontend")
    page.keyboard.press("3")
    write = page.locator(".request", has=page.get_by_text("PATCH", exact=True)).first
    expect(write).to_contain_text("application/apply-patch+yaml")
    expect(write).to_contain_text("kubectl")

    assert copy(page, "Copy as curl").startswith("curl --request PATCH")
    assert copy(page, "Copy as kubectl").startswith("kubectl apply --server-side")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download the body").click()
    assert saved.value.suggested_filename == "deployment-frontend-request-1.yaml"


@pytest.mark.long
def test_diff_and_owners_show_what_is_new(boutique):
    page = boutique
    choose(page, "Deployment", "frontend")
    page.keyboard.press("2")
    page.get_by_role("link", name="Side by side", exact=True).click()
    expect(page.locator(".diff.is-split")).to_contain_text("image:")
    page.get_by_role("link", name="Normalized").click()
    expect(page.locator(".diff.is-split")).to_contain_text("managedFields:")
    page.keyboard.press("4")
    expect(page.locator(".lanes tbody tr")).to_have_count(1)
    page.get_by_role("link", name="all fields owned in this cluster").click()
    expect(page).to_have_url(re.compile(r"/clusters/[^/]+/managers/"))


def show_all_fields(page: Page) -> None:
    """Choose all fields; the rows of before are on the page until the answer is there."""
    chosen = page.get_by_role("link", name=re.compile("All fields"))
    chosen.click()
    expect(chosen).to_have_attribute("aria-current", "true")


@pytest.mark.long
def test_row_that_is_opened_while_another_filter_is_under_way_stays_open(boutique):
    page = boutique
    choose(page, "Deployment", "frontend")
    held = []
    page.route("**/*show=all*", lambda route: held.append(route))
    row = page.locator("[data-field-row]", has=page.locator("summary .path", has_text="serviceAccountName"))
    chosen = page.get_by_role("link", name=re.compile("All fields"))

    with page.expect_request("**/*show=all*"):
        chosen.click()
    row.locator("summary").click()
    expect(row).to_have_attribute("open", "")
    held[0].continue_()
    expect(chosen).to_have_attribute("aria-current", "true")

    expect(row).to_have_attribute("open", "")


@pytest.mark.long
def test_address_of_a_field_holds_for_others_who_first_sign_in(boutique, sign_in, browser, product):
    page = boutique
    choose(page, "Deployment", "frontend")
    show_all_fields(page)
    label = page.locator("summary .path", has_text="serviceAccountName")
    row = page.locator("[data-field-row]", has=label)
    row.locator("summary").click()
    row.get_by_role("link", name="Link to this field").click()
    page.wait_for_url(re.compile(r"&field=\d+#object-\d+-field-\d+"))
    page.reload()
    expect(page.locator(":target [data-field-row]")).to_have_attribute("open", "")
    expect(page.locator(":target .schema")).to_contain_text("ServiceAccount")

    context = browser.new_context(base_url=product.url)
    visitor = context.new_page()
    visitor.goto(page.url)
    visitor.get_by_label("Name").fill("charlie")
    visitor.get_by_label("Password").fill(product.passwords["charlie"])
    visitor.get_by_role("button", name="Sign in").click()
    expect(visitor.locator(":target")).to_contain_text("serviceAccountName")
    expect(visitor.locator(":target")).to_be_in_viewport()
    context.close()


@pytest.mark.long
def test_all_requests_of_a_plan_are_taken_away(boutique, tmp_path):
    open_tab(boutique, "Requests")
    with boutique.expect_download() as saved:
        boutique.get_by_role("link", name="Download requests (.zip)").click()
    assert re.fullmatch(r"review-\d+-plan-1-requests.zip", saved.value.suggested_filename)
    with zipfile.ZipFile(saved.value.path()) as archive:
        archive.extractall(tmp_path)
    (script,) = tmp_path.glob("*/replay.sh")
    lines = script.read_text().splitlines()
    subprocess.run(["sh", "-n", script], check=True)
    bodies = {re.search(r"--filename=(\S+)", line)[1] for line in lines if line.startswith('"$KUBECTL" apply')}
    assert bodies == {str(file.relative_to(script.parent)) for file in script.parent.glob("requests/*")}


@pytest.mark.long
def test_version_is_folded_searched_and_kept(boutique):
    page = boutique
    choose(page, "Deployment", "frontend")
    page.keyboard.press("5")
    fold = page.locator(".yaml details", has=page.locator("summary", has_text="metadata:")).first
    expect(fold).to_have_attribute("open", "")
    fold.locator("summary").first.click()
    expect(fold).not_to_have_attribute("open", "")

    page.get_by_label("Find in this version").fill("PRODUCT_CATALOG")
    page.get_by_label("Find in this version").press("Enter")
    expect(page.locator(".is-found")).to_have_count(2)  # the variable and who owns it
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download", exact=True).click()
    assert saved.value.suggested_filename == "deployment-frontend-after.yaml"


@pytest.mark.long
def test_plan_that_is_made_again_says_that_nothing_moved(boutique):
    page = boutique
    address = re.sub(r"(/reviews/\d+/).*", r"\1", page.url)
    token = next(c["value"] for c in page.context.cookies() if c["name"] == "applyviz_csrf")
    answer = page.request.post(f"{address}plans/1/replan/", headers={"X-CSRFToken": token, "Referer": address})
    assert answer.ok
    page.goto(address)
    wait_for_plan(page)

    open_tab(page, "Overview")
    expect(page.locator("#overview")).to_contain_text("Identical to plan 1")
    page.goto(f"{address}compare/?from=1&to=2")
    expect(page.get_by_role("heading", name="No differences")).to_be_visible()
