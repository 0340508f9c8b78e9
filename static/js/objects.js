/**
 * The object list of a review: marks the chosen object, filters by text, and listens to the keyboard.
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

function markCurrent() {
  const here = withoutTab(location.pathname);
  for (const link of currentList().querySelectorAll("[data-object] a")) {
    const isHere = withoutTab(new URL(link.href).pathname) === here;
    link.toggleAttribute("aria-current", isHere);
    if (isHere) {
      link.setAttribute("aria-current", "true");
      link.scrollIntoView({ block: "nearest" });
    }
  }
}

function filter(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const item of currentList().querySelectorAll("[data-object]")) {
    const matches = words.every((word) => item.dataset.text.includes(word));
    item.hidden = !matches;
    shown += matches ? 1 : 0;
  }
  for (const group of currentList().querySelectorAll("[data-group]")) {
    const count = group.querySelectorAll("[data-object]:not([hidden])").length;
    group.hidden = count === 0;
    group.querySelector("[data-count]").textContent = count;
    if (words.length && count) {
      group.open = true;
      for (const others of group.querySelectorAll("[data-others]")) others.open = true;
    }
  }
  currentList().querySelector("[data-nothing]").hidden = shown > 0;
}

function step(by) {
  const all = links();
  const at = all.findIndex((a) => a.hasAttribute("aria-current"));
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  next?.click();
  next?.scrollIntoView({ block: "nearest" });
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
};

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  if (event.key === "Escape" && target.matches("[data-find]")) {
    target.value = "";
    filter("");
    target.blur();
    return;
  }
  if (target.closest("input, textarea, select")) return;
  const tab = /^[1-5]$/.test(event.key) && document.querySelector(`[data-tab="${event.key}"]`);
  if (tab) tab.click();
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
}

/** What the schema says of a field is fetched when its row is opened. */
function openRow(event) {
  if (event.target.matches?.("[data-field-row]") && event.target.open) {
    event.target.querySelector("[data-schema]")?.dispatchEvent(new Event("opened"));
  }
}

function measureDeck() {
  const deck = document.querySelector("[data-deck]");
  if (!deck) return;
  new ResizeObserver(() => {
    document.documentElement.style.setProperty("--deck-height", `${deck.offsetHeight}px`);
  }).observe(deck);
}

function reveal() {
  for (const hint of currentList().querySelectorAll("[data-find], [data-keys]")) hint.hidden = false;
}

if (list) {
  reveal();
  measureDeck();
  document.addEventListener("keydown", press);
  document.addEventListener("toggle", openRow, true);
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-find]")) filter(event.target.value);
  });
  document.addEventListener("htmx:after:swap", () => {
    if (!currentList()) return;
    reveal();
    markCurrent();
    filter(currentList().querySelector("[data-find]").value);
  });
}
