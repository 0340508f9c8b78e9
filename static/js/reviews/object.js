/**
 * The page of one object: keys choose its tabs and rows, and an address may name a row or a comment.
 * Everything here is a short cut: the links of the page work without it.
 */
function stepField(by) {
  const all = [...document.querySelectorAll("[data-field-row] > summary")];
  const at = all.indexOf(document.activeElement);
  all[Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
}

const keys = {
  n: () => stepField(1),
  p: () => stepField(-1),
  x: () => {
    const row = document.activeElement.closest("[data-field-row]") ?? document.querySelector("[data-field-row]");
    if (row) row.open = !row.open;
  },
  m: () => {
    const thread = document.querySelector("#pane [data-thread]");
    if (!thread) return;
    thread.open = true;
    thread.querySelector("[data-say]")?.focus();
  },
  "?": showKeys,
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
  if (event.target.closest("input, textarea, select, dialog")) return;
  const tab = /^[1-5]$/.test(event.key) && document.querySelector(`[data-tab="${event.key}"]`);
  if (tab) tab.click();
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
}

openTarget();
addEventListener("hashchange", openTarget);
document.addEventListener("keydown", press);
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-show-keys]")) showKeys();
});
for (const hint of document.querySelectorAll("[data-show-keys]")) hint.hidden = false;
