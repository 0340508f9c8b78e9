/**
 * The object list of a review: marks the chosen object, and listens to the keyboard.
 * Everything here is a short cut: the links and pages work without it.
 */
const list = document.querySelector("[data-objects]");

function currentList() {
  return document.querySelector("[data-objects]");
}

function links() {
  return [...currentList().querySelectorAll("[data-object]:not([hidden]) a")].filter((a) => a.offsetParent !== null);
}

function withoutTab(path) {
  return path.replace(/(\/objects\/\d+\/).*$/, "$1");
}

/** Scrolls the list alone: the page stays where the reader has it. */
function bringIntoList(link) {
  const box = currentList();
  const [item, frame] = [link.getBoundingClientRect(), box.getBoundingClientRect()];
  const bottom = Math.min(frame.bottom, innerHeight);
  if (item.top < frame.top) box.scrollTop -= frame.top - item.top;
  else if (item.bottom > bottom) box.scrollTop += item.bottom - bottom;
}

function markCurrent() {
  const here = withoutTab(location.pathname);
  if (!here.includes("/objects/")) return; // the page chose the first object itself
  for (const link of currentList().querySelectorAll("[data-object] a")) {
    const isHere = withoutTab(new URL(link.href).pathname) === here;
    link.toggleAttribute("aria-current", isHere);
    if (isHere) {
      link.setAttribute("aria-current", "true");
      bringIntoList(link);
    }
  }
}

function step(by) {
  const all = links();
  const at = all.findIndex((a) => a.hasAttribute("aria-current"));
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  if (next && next === all[at] && by > 0) currentList().querySelector("[data-more]")?.click();
  else next?.click();
  if (next) bringIntoList(next);
}

function stepField(by) {
  const all = [...document.querySelectorAll("[data-field-row] > summary")];
  const at = all.indexOf(document.activeElement);
  all[Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
}

const keys = {
  j: () => step(1),
  k: () => step(-1),
  n: () => stepField(1),
  p: () => stepField(-1),
  f: () => currentList().querySelector("[data-find]").focus(),
  x: () => {
    const row = document.activeElement.closest("[data-field-row]") ?? document.querySelector("[data-field-row]");
    if (row) row.open = !row.open;
  },
  m: () => {
    const thread = document.querySelector("#pane [data-thread]") ?? document.querySelector("[data-thread]");
    if (!thread) return;
    thread.open = true;
    thread.querySelector("[data-say]").focus();
  },
  "?": () => showKeys(),
};

function showKeys() {
  document.querySelector("[data-keys-help]").showModal();
}

/** An address may name a row or a comment that is folded away. */
function openTarget() {
  const named = location.hash
    ? document.getElementById(decodeURIComponent(location.hash.slice(1)))
    : document.querySelector("[data-linked]");
  if (!named) return;
  for (let fold = named.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  named.scrollIntoView({ block: "center" });
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  if (event.key === "Escape" && target.matches("[data-find]")) {
    target.value = "";
    target.dispatchEvent(new Event("input", { bubbles: true }));
    target.blur();
    return;
  }
  if (target.closest("input, textarea, select, dialog")) return;
  const tab = /^[1-5]$/.test(event.key) && document.querySelector(`[data-tab="${event.key}"]`);
  if (tab) tab.click();
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
}

function reveal() {
  for (const hint of currentList().querySelectorAll("[data-show-keys]")) hint.hidden = false;
}

if (list) {
  reveal();
  markCurrent();
  openTarget();
  addEventListener("hashchange", openTarget);
  document.addEventListener("keydown", press);
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-show-keys]")) showKeys();
  });
  document.addEventListener("htmx:after:swap", () => {
    if (!currentList()) return;
    reveal();
    markCurrent();
  });
}
