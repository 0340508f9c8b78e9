/**
 * One object: fetches what is known of a field when its row is opened, copies texts, unfolds rows.
 * Everything here is a short cut: without script its links lead to the same.
 */
function openRow(event) {
  if (event.target.matches?.("[data-field-row]") && event.target.open) {
    event.target.querySelector("[data-schema]")?.dispatchEvent(new Event("opened"));
  }
}

/** Copies the text of the named element; says so in the button for a moment, and what else to do when it may not. */
async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const word = (button.dataset.word ??= button.textContent);
  try {
    await navigator.clipboard.writeText(source.dataset.text ?? source.textContent);
    button.textContent = button.dataset.copied;
  } catch {
    getSelection().selectAllChildren(source);
    button.textContent = button.dataset.selected;
  }
  setTimeout(() => (button.textContent = word), 2000);
}

function shownObject() {
  return document.querySelector("#pane .object-head h3")?.textContent;
}

/** Rows that a reader opened stay open when the same object is shown again, even when its answer was under way. */
let opened = { of: undefined, rows: [] };

function remember() {
  const rows = [...document.querySelectorAll("#pane [data-field-row][open]")];
  opened = { of: shownObject(), rows: rows.map((row) => row.closest("[id]").id) };
}

function reopen() {
  if (shownObject() !== opened.of) return;
  for (const id of opened.rows) document.querySelector(`#${CSS.escape(id)} > [data-field-row]`)?.setAttribute("open", "");
}

function reveal() {
  for (const button of document.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

document.addEventListener("toggle", openRow, true);
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (button) copy(button);
});
document.addEventListener("htmx:before:swap", remember);
document.addEventListener("htmx:after:swap", reopen);
document.addEventListener("htmx:after:swap", reveal);
reveal();
