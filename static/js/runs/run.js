/**
 * The page of a run: keys for its list, and a switch that stops the page from changing while a person reads it.
 * Everything here is a short cut: the page works without it.
 */
let isFollowing = true;

function rows() {
  return [...document.querySelectorAll("[data-row]")];
}

function step(by) {
  const all = rows();
  const at = all.indexOf(document.activeElement);
  all[Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
}

function toggle() {
  const box = document.querySelector("[data-follow]");
  if (!box) return;
  box.checked = !box.checked;
  isFollowing = box.checked;
}

const keys = {
  j: () => step(1),
  k: () => step(-1),
  l: toggle,
  "?": () => document.querySelector("[data-keys-help]").showModal(),
};

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  if (!keys[event.key]) return;
  keys[event.key]();
  event.preventDefault();
}

/** The tabs are swapped while the run goes on; the switch stays as it was set. */
function reveal() {
  for (const part of document.querySelectorAll("[data-follow-part]")) part.hidden = false;
  const box = document.querySelector("[data-follow]");
  if (box) box.checked = isFollowing;
}

document.addEventListener("keydown", press);
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-follow]")) isFollowing = event.target.checked;
});
document.addEventListener("htmx:before:request", (event) => {
  if (!isFollowing && event.target.id === "poller") event.preventDefault();
});
document.addEventListener("htmx:after:swap", reveal);
reveal();
