/**
 * Keeps the focus of a reader whose part of the page htmx replaces: on the same control of the new part, else on the
 * part itself. It never goes to another act, because the next key would trigger it.
 */
let lost;

/** What tells a control from the others: where a link leads, else its name, its value and its words. */
function identify(one) {
  const href = one.getAttribute("href");
  if (href !== null) return `${one.tagName} ${href}`;
  const words = one.getAttribute("aria-label") ?? one.textContent.trim().replace(/\s+/g, " ");
  return [one.tagName, one.getAttribute("name"), one.getAttribute("value"), words].join(" ");
}

function listAlike(part, key, tag) {
  return [...part.querySelectorAll(tag)].filter((one) => identify(one) === key);
}

/** Remembers what has the focus, and the parts around it, from the nearest on. */
function remember() {
  const one = document.activeElement;
  if (!one || one === document.body) return; // another answer of the same moment took it
  const parts = [];
  for (let part = one.parentElement; part && part !== document.body; part = part.parentElement) {
    parts.push({ part, turn: listAlike(part, identify(one), one.tagName).indexOf(one) });
  }
  lost = { key: identify(one), tag: one.tagName, parts };
}

const isShown = (one) => one.checkVisibility({ visibilityProperty: true });

/** A control in a fold that is shut has the focus on the summary of the fold. */
function findShown(one) {
  for (let at = one; at; at = at.parentElement.closest("details")?.querySelector(":scope > summary")) {
    if (isShown(at)) return at;
    if (at.matches("summary")) at = at.parentElement;
  }
  return undefined;
}

function choose({ key, tag, parts }) {
  for (const { part, turn } of parts) {
    const now = part.isConnected ? part : part.id && document.getElementById(part.id);
    if (!now) continue;
    const alike = listAlike(now, key, tag);
    const same = findShown(alike[turn] ?? alike.at(-1)) ?? [...now.querySelectorAll("[data-first-line], [data-say]")].find(isShown);
    if (same) return same;
    if (isShown(now)) {
      if (!now.hasAttribute("tabindex")) now.tabIndex = -1;
      return now;
    }
  }
  return undefined;
}

function restore() {
  const before = lost;
  if (!before) return;
  if (document.activeElement === document.body) choose(before)?.focus({ preventScroll: true });
  if (document.activeElement !== document.body) lost = undefined;
}

document.addEventListener("htmx:before:swap", remember);
document.addEventListener("htmx:finally:swap", restore);
