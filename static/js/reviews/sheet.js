/**
 * The approve sheet: opens the form of the approve page beside the review.
 * Ctrl or Cmd with Enter sends it; an answer with problems puts focus on the first of them.
 */
const sheet = document.querySelector("dialog[data-sheet]");
const APPROVE = /\/plans\/\d+\/confirm\/$/;
let opener;

function form() {
  return document.querySelector("form[data-approval]");
}

function reveal() {
  if (!form()) return;
  for (const part of form().querySelectorAll("[data-submit-keys]")) part.hidden = false;
  const cross = form().querySelector("button[data-close-sheet]");
  if (cross) cross.hidden = !sheet;
}

function focusFirst() {
  const wrong = form()?.querySelector('[aria-invalid="true"]');
  const first = wrong ?? form()?.querySelector('[name="then"]:checked') ?? form()?.querySelector('[name="then"]:enabled');
  first?.focus();
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
  else if (sheet && link && !event.ctrlKey && !event.metaKey && !event.shiftKey && APPROVE.test(new URL(link.href, location.href).pathname)) {
    event.preventDefault();
    open(link);
  }
});
sheet?.addEventListener("close", () => opener?.focus());
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form()?.contains(event.target)) {
    event.preventDefault();
    form().requestSubmit();
  }
});
document.addEventListener("htmx:after:swap", () => {
  if (!sheet?.open) return;
  reveal();
  focusFirst();
});
reveal();
