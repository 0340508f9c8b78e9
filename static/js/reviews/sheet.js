/**
 * The sheet: opens the form of the approve page, or of the requested reviewers, beside the review.
 * Ctrl or Cmd with Enter sends it; an answer with problems puts focus on the first of them.
 */
const sheet = document.querySelector("dialog[data-sheet]");
const OPENED = /\/plans\/\d+\/confirm\/$|\/reviews\/\d+\/reviewers\/$/;
const FIRST = ['[aria-invalid="true"]', '[name="then"]:checked', '[name="then"]:enabled', '[type="search"]', '[name="reviewers"]'];
let opener;

function form() {
  return document.querySelector("form[data-sheet-form]");
}

function reveal() {
  if (!form()) return;
  for (const part of form().querySelectorAll("[data-submit-keys]")) part.hidden = false;
  const cross = form().querySelector("button[data-close-sheet]");
  if (cross) cross.hidden = !sheet;
}

function focusFirst() {
  for (const one of FIRST) {
    const found = form()?.querySelector(one);
    if (found) return found.focus();
  }
}

async function open(link) {
  opener = link;
  try {
    await globalThis.htmx.ajax("GET", new URL(link.href).pathname, { target: "#sheet-body", swap: "innerHTML" });
  } catch {
    location.assign(link.href);
    return;
  }
  if (!form()) {
    location.assign(link.href);
    return;
  }
  sheet.showModal();
  reveal();
  focusFirst();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (sheet?.open && event.target.closest("[data-close-sheet]")) {
    event.preventDefault();
    sheet.close();
  } else if (event.target === sheet) sheet.close();
  else if (sheet && link && !event.ctrlKey && !event.metaKey && !event.shiftKey && OPENED.test(new URL(link.href, location.href).pathname)) {
    event.preventDefault();
    open(link);
  }
});
/** The header may have been replaced meanwhile: the link that opened the sheet is now the button of the next act. */
sheet?.addEventListener("close", () => {
  const back = opener?.isConnected ? opener : document.querySelector("[data-review-header] [data-next-act]");
  back?.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form()?.contains(event.target)) {
    event.preventDefault();
    form().requestSubmit();
  }
});
document.addEventListener("htmx:after:swap", () => {
  if (!sheet?.open) return;
  reveal();
  if (form()?.querySelector(FIRST[0]) || !form()?.contains(document.activeElement)) focusFirst();
});
reveal();
