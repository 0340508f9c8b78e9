/**
 * Records that an object was viewed, once all of its rows were on the screen: in the scroll of all changes, alone, and
 * in the drawer of risks. A part that only flies past does not count: it counts when it stays on the screen from one look to
 * the next. Without script the box beside each object says the same.
 */
const LOOK = 250;
const SLACK = 3;
const ANSWER = 15_000;
const covered = new WeakMap();
const refused = new Set();
const sent = new Set();
let before = new Map();
let waiting = [];
let flushing = 0;
/** The objects that were sent and the form that sent them: the answer replaces it, and without one they are sent again. */
let request = null;

/** The parts of an element that are looked at one by one: each row, and what stands beside the rows. */
function split(element) {
  const rows = element.querySelectorAll("[data-field-row]").length;
  return rows > 1 ? [...element.children].flatMap(split) : [element];
}

/** The part of the window in which the element can be seen: below what sticks to the top, above the bar at the bottom. */
function findBand(element) {
  const drawer = element.closest("[data-drawer]");
  if (drawer) {
    const [box, head] = [drawer.getBoundingClientRect(), drawer.querySelector(".drawer-head")?.getBoundingClientRect()];
    return [Math.max(box.top, head?.bottom ?? 0), Math.min(box.bottom, innerHeight)];
  }
  let [top, bottom] = [0, innerHeight];
  for (const one of document.querySelectorAll("[data-review-header], .title-bar, .column-heads")) {
    const box = one.getBoundingClientRect();
    if (["sticky", "fixed"].includes(getComputedStyle(one).position) && box.height && box.top <= top + 1) top = Math.max(top, box.bottom);
  }
  const bar = document.querySelector(".review-header .go");
  const over = bar?.getBoundingClientRect();
  if (over?.height && getComputedStyle(bar).position === "fixed") bottom = Math.min(bottom, over.top);
  return [top, bottom];
}

/** Adds a part to the parts of an element that were seen, and returns whether they now are all of it. */
function cover(element, height, from, to) {
  const known = covered.get(element);
  const parts = known && Math.abs(known.height - height) <= 1 ? known.parts : [];
  if (to > from) parts.push([from, to]);
  covered.set(element, { height, parts });
  parts.sort((a, b) => a[0] - b[0]);
  let end = 0;
  for (const [start, stop] of parts) {
    if (start > end + SLACK) return false;
    end = Math.max(end, stop);
  }
  return end >= height - SLACK;
}

function hasFold(element) {
  return element.querySelector(".created details:not([open])") !== null;
}

/** Whether a part was seen as a whole, with what is on the screen now and was at the last look. */
function look(part, band, now) {
  const box = part.getBoundingClientRect();
  if (!box.height) return true; // folded away by the page: it does not change
  const shown = [Math.max(band[0], box.top) - box.top, Math.min(band[1], box.bottom) - box.top];
  now.set(part, shown);
  const last = before.get(part);
  const both = last ? [Math.max(shown[0], last[0]), Math.min(shown[1], last[1])] : [0, 0];
  return cover(part, box.height, ...both) && !hasFold(part);
}

function isVisible(element) {
  return element.getClientRects().length > 0;
}

function lookAround() {
  if (document.visibilityState !== "visible") return;
  const now = new Map();
  const found = new Map();
  for (const element of document.querySelectorAll("[data-watched]")) {
    const position = element.dataset.watched;
    if (sent.has(position) || refused.has(position)) continue;
    const root = element.closest("[data-drawer], #risk-list") ?? document.body;
    if (!found.has(root)) found.set(root, new Map());
    const all = found.get(root);
    const band = isVisible(element) ? findBand(element) : null;
    const isSeen = band !== null && split(element).map((part) => look(part, band, now)).every(Boolean);
    all.set(position, (all.get(position) ?? true) && isSeen);
  }
  before = now;
  for (const all of found.values()) {
    for (const [position, isSeen] of all) if (isSeen && !sent.has(position)) keep(position);
  }
}

function keep(position) {
  sent.add(position);
  waiting.push(position);
  clearTimeout(flushing);
  flushing = setTimeout(send, LOOK);
}

/** One request at a time: what is seen until its answer goes with the next one. */
function send() {
  const form = document.getElementById("seen");
  if (request && request.form === form) {
    if (Date.now() - request.at < ANSWER) return;
    waiting = [...request.positions, ...waiting];
  }
  request = null;
  if (!form || !waiting.length) return;
  request = { form, positions: waiting.slice(0, 400), at: Date.now() };
  waiting = waiting.slice(400);
  form.elements.seen.value = request.positions.join(",");
  form.elements.has_meter.value = document.getElementById("viewed") ? "on" : "";
  form.dispatchEvent(new CustomEvent("seen"));
}

/** The answer names what is viewed now: the boxes and the lists say so, and nothing is folded under the reader. */
function tick() {
  const form = document.getElementById("seen");
  for (const position of (form?.dataset.seenNow ?? "").split(",").filter(Boolean)) {
    sent.add(position);
    const box = document.querySelector(`[data-scroll-object="${position}"]:not(.is-alike) [data-viewed-box]`);
    if (box) box.checked = true;
    const mark = document.querySelector(`[data-item="${position}"] [data-tick]`);
    if (mark) mark.textContent = "✓";
    for (const element of document.querySelectorAll(`[data-watched="${position}"]`)) element.removeAttribute("data-watched");
  }
  if (waiting.length) send();
}

function sendAgain() {
  if (request && Date.now() - request.at >= ANSWER) send();
}

/** A reader who takes a tick away means it: the object is not ticked again before the page is loaded anew. */
document.addEventListener("change", (event) => {
  const box = event.target;
  if (!box.matches?.("[data-viewed-box]") || box.checked) return;
  refused.add(box.closest("[data-scroll-object]").dataset.scrollObject);
});
document.addEventListener("htmx:after:swap", tick);
setInterval(lookAround, LOOK);
setInterval(sendAgain, ANSWER);
