/**
 * The scroll of all changes: the list follows it, a link of the list goes to its object, and keys move through both.
 * Everything here is a short cut: without script every link leads to a page that shows the same.
 */
const CLEARANCE = 130;

function heads() {
  return [...document.querySelectorAll("[data-scroll-object]")];
}

function shown() {
  return document.querySelector("[data-master] [aria-current]");
}

/**
 * The position of the object that a key or a link chose. It stays current until the reader scrolls: objects that fold
 * or grow move others under the top of the page.
 */
let held = "";

function hold(object) {
  held = object.dataset.scrollObject;
}

function release() {
  held = "";
}

/** The object that the reader is at: the chosen one, else the last whose head has reached the top. */
function current() {
  const all = heads();
  const chosen = held && all.find((one) => one.dataset.scrollObject === held);
  if (chosen) return chosen;
  return all.findLast((one) => one.getBoundingClientRect().top <= CLEARANCE) ?? all[0];
}

/** Scrolls the list alone: the page stays where the reader has it. */
function bringIntoList(link) {
  const box = document.querySelector("[data-master]");
  if (box.scrollHeight <= box.clientHeight) return;
  const [item, frame] = [link.getBoundingClientRect(), box.getBoundingClientRect()];
  if (item.top < frame.top) box.scrollTop -= frame.top - item.top + 8;
  else if (item.bottom > frame.bottom) box.scrollTop += item.bottom - frame.bottom + 8;
}

let pending = false;
function follow() {
  pending = false;
  const here = current();
  if (!here) return;
  const link = document.querySelector(`[data-item="${here.dataset.scrollObject}"] a`);
  if (!link || link === shown()) return;
  shown()?.removeAttribute("aria-current");
  link.setAttribute("aria-current", "true");
  bringIntoList(link);
}

function followSoon() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(follow);
}

function goTo(object) {
  hold(object);
  object.scrollIntoView({ block: "start", behavior: "instant" });
  object.focus({ preventScroll: true });
}

/** When the chosen object is not in the page, the scroll is loaded again from that object. */
async function fetchAt(link, position) {
  const url = new URL(link.href);
  const chunk = document.querySelector("[data-chunk-url]").dataset.chunkUrl;
  await htmx.ajax("GET", chunk + url.search, { target: "#scroll", swap: "innerHTML" });
  const found = document.getElementById(`object-${position}`) ?? heads()[0];
  if (found) goTo(found);
}

function choose(event) {
  const link = event.target.closest?.("[data-item] a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (new URL(link.href).pathname !== location.pathname) return; // the link leads to another page
  if (document.getElementById("pane")) return; // one object alone: the link leads to all of them
  const position = link.closest("[data-item]").dataset.item;
  event.preventDefault();
  const list = link.closest("[popover]");
  if (list?.matches(":popover-open")) list.hidePopover(); // on a phone it lies over the changes
  history.replaceState(history.state, "", link.href);
  const found = document.getElementById(`object-${position}`);
  if (found) goTo(found);
  else fetchAt(link, position);
}

function step(by) {
  const all = heads();
  const at = all.indexOf(current());
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  if (document.getElementById("pane")) stepInList(by);
  else if (next) goTo(next);
}

/** From an object alone to its neighbor in the list. */
function stepInList(by) {
  const links = [...document.querySelectorAll("[data-item] a")];
  links[links.indexOf(shown()) + by]?.click();
}

function rows(selector = "") {
  const all = [...document.querySelectorAll(`.change${selector} > [data-field-row] > summary`)];
  return all.filter((row) => row.offsetParent !== null);
}

/** The row after or before the one with focus; without one, that of the object the reader is at. */
function stepRow(by, selector) {
  const all = rows(selector);
  const from = document.activeElement?.closest?.(".change") ?? current();
  if (!from) return;
  const before = (row) => row.compareDocumentPosition(from) & Node.DOCUMENT_POSITION_FOLLOWING && !from.contains(row);
  const after = (row) => row.compareDocumentPosition(from) & Node.DOCUMENT_POSITION_PRECEDING && !row.contains(from);
  const inside = (row) => from.matches("[data-scroll-object]") && from.contains(row);
  const next = by > 0 ? all.find((row) => inside(row) || (after(row) && !from.contains(row))) : all.findLast(before);
  next?.focus();
  next?.scrollIntoView({ block: "nearest", behavior: "instant" });
}

const keys = {
  j: () => step(1),
  k: () => step(-1),
  n: () => stepRow(1),
  p: () => stepRow(-1),
  f: () => {
    const field = document.querySelector("[data-find]");
    if (!field.checkVisibility()) field.closest("[popover]").showPopover();
    field.focus();
  },
  x: () => {
    const object = document.activeElement?.closest?.("[data-scroll-object]") ?? current();
    if (!object) return;
    hold(object);
    object.querySelector("[data-viewed-box]")?.click();
  },
  m: () => {
    const thread = document.querySelector("#pane [data-thread]:not(.field-comments *)");
    if (!thread) return;
    thread.open = true;
    thread.querySelector("[data-say]")?.focus();
  },
  "?": () => document.querySelector("[data-keys-help]").showModal(),
};

const SCROLLING = new Set(["PageUp", "PageDown", "Home", "End", "ArrowUp", "ArrowDown", " "]);

function press(event) {
  const target = event.target;
  if (SCROLLING.has(event.key) && !event.altKey) release();
  if (event.defaultPrevented || target.closest("[data-drawer]")) return;
  if (event.altKey && event.key === "ArrowDown" && !target.closest("input, textarea, select, dialog")) {
    stepRow(1, ":not(.tone-calm, .tone-keep)");
    event.preventDefault();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (target.matches("[data-find]")) {
      target.value = "";
      target.dispatchEvent(new Event("input", { bubbles: true }));
      target.blur();
    } else shut(target);
    return;
  }
  if (target.closest("textarea, select, dialog, input:not([type=checkbox], [type=radio])")) return;
  const view = /^[1-5]$/.test(event.key) && document.querySelector(`[data-tab="${event.key}"]`);
  if (view) view.click();
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
}

/** Escape shuts the row or the menu with focus. */
function shut(target) {
  const open = target.closest(".object-menu[open], [data-field-row][open]");
  if (!open) return;
  open.open = false;
  open.querySelector("summary").focus();
}

/** The button that resolves leads only once something is chosen; of several conflicts it counts the chosen ones. */
function offer(event) {
  if (!event.target.matches?.("[data-option]")) return;
  const form = event.target.form;
  form?.querySelector("[data-decide]")?.classList.add("primary");
  // One primary button at a time: the one in the header leads here, and here it is now.
  document.querySelector(".review-header [data-next-act]")?.classList.remove("primary");
  const count = form?.querySelector("[data-chosen]");
  const chosen = [...(form?.elements ?? [])].filter((one) => one.matches("[data-option]") && one.checked).length;
  if (count) count.textContent = count.dataset.chosen.replace("#", chosen);
  const then = form?.querySelector("[data-decide-one]");
  if (then && chosen) then.textContent = chosen === 1 ? then.dataset.decideOne : then.dataset.decideMany.replace("#", chosen);
}

/** One tick more or less in the list, as the boxes say. */
function tick() {
  for (const box of document.querySelectorAll("[data-scroll-object]:not(.is-alike) [data-viewed-box]")) {
    const position = box.closest("[data-scroll-object]").dataset.scrollObject;
    const mark = document.querySelector(`[data-item="${position}"] [data-tick]`);
    if (mark && box.checked !== mark.textContent.includes("✓")) mark.textContent = box.checked ? "✓" : "";
  }
}

function reveal() {
  for (const one of document.querySelectorAll("[data-show-keys][hidden], [data-show-keys-hint][hidden]")) one.hidden = false;
}

function openTarget() {
  const named = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!named) return;
  for (let fold = named.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  named.querySelector(":scope > [data-field-row]")?.setAttribute("open", "");
  if (named.closest("#pane")) named.scrollIntoView({ block: "center" });
}

addEventListener("scroll", followSoon, { passive: true });
addEventListener("wheel", release, { passive: true });
addEventListener("touchmove", release, { passive: true });
addEventListener("pointerdown", (event) => {
  if (event.clientX >= document.documentElement.clientWidth) release(); // the scroll bar
});
addEventListener("hashchange", openTarget);
document.addEventListener("keydown", press);
document.addEventListener("change", offer);
document.addEventListener("click", choose);
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-show-keys]")) keys["?"]();
  for (const menu of document.querySelectorAll(".object-menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener("htmx:after:swap", () => {
  reveal();
  tick();
  followSoon();
});
reveal();
openTarget();
follow();
