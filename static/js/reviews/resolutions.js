/**
 * Deciding by keyboard: c goes to the next conflict, 1 2 3 choose an option, d goes to the button that decides.
 * Everything here is a short cut: choices and buttons work without it.
 */
function conflicts() {
  return [...document.querySelectorAll("[data-conflict]")].filter((one) => one.querySelector("[data-option]"));
}

function current() {
  return document.activeElement?.closest?.("[data-conflict]");
}

function enter(conflict) {
  const first = conflict.querySelector("[data-option]:checked") ?? conflict.querySelector("[data-option]");
  conflict.scrollIntoView({ block: "center" });
  first.focus({ preventScroll: true });
}

/** The next conflict of this object, else of the next object that has one, in the order of the list. */
function nextConflict() {
  const all = conflicts();
  const next = all[all.indexOf(current()) + 1];
  if (next) return enter(next);
  const links = [...document.querySelectorAll("[data-item] a")];
  const here = links.findIndex((link) => link.hasAttribute("aria-current"));
  const rest = [...links.slice(here + 1), ...links.slice(0, Math.max(here, 0))];
  const other = rest.find((link) => link.matches("[data-conflicts]"));
  if (other) other.click();
  else if (all.length) enter(all[0]);
}

function choose(key) {
  const option = current()?.querySelector(`[data-option="${key}"]`);
  if (!option) return false;
  option.checked = true;
  option.dispatchEvent(new Event("change", { bubbles: true }));
  option.focus();
  return true;
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("textarea, select, dialog, input:not([type=radio])")) return;
  if (event.key === "c") nextConflict();
  else if (event.key === "d") findDecision()?.focus();
  else if (!/^[123]$/.test(event.key) || !choose(event.key)) return;
  event.preventDefault();
  event.stopPropagation(); // digits are tabs elsewhere
}

/** The button of the object that the conflict with focus is in, else the first of the page. */
function findDecision() {
  const form = current()?.querySelector("[data-option]")?.form ?? document.querySelector('form[id^="deciding"]');
  return form?.querySelector('button[value="decide"]');
}

function reveal() {
  for (const hint of document.querySelectorAll("[data-show-keys-hint][hidden]")) hint.hidden = false;
}

document.addEventListener("keydown", press, true);
document.addEventListener("htmx:after:swap", reveal);
/** Without a choice nothing is sent: the first option says so, and the reason stays. */
document.addEventListener("submit", (event) => {
  const options = [...event.target.elements].filter((one) => one.matches("[data-option]"));
  if (!event.target.dataset.chooseFirst || !options.length || options.some((one) => one.checked)) return;
  event.preventDefault();
  options[0].closest("details")?.setAttribute("open", "");
  options[0].setCustomValidity(event.target.dataset.chooseFirst);
  options[0].reportValidity();
});
document.addEventListener("change", (event) => {
  if (!event.target.matches?.("[data-option]")) return;
  for (const one of event.target.form?.elements ?? []) if (one.matches("[data-option]")) one.setCustomValidity("");
});
reveal();
