/**
 * Zoom and search of the graph: buttons, the keys + - 0 and f, two fingers, and Ctrl with the wheel, which is what a
 * trackpad sends for a pinch. Without script the form of the search leads to a page with the object chosen.
 */
const LEVELS = [0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.25, 1.5, 2, 3];
/** On a phone the smallest text of the picture has the size of that of the page. */
const ON_PHONE = 1.25;
let scale = matchMedia("(max-width: 40rem)").matches ? ON_PHONE : 1;
let pinch;

const graph = () => document.querySelector("svg[data-graph]");
const canvas = () => graph()?.closest(".graph-canvas");

/** Draws the picture in another size; the point under the fingers or the pointer stays where it is. */
function zoomTo(wanted, at) {
  const [box, svg] = [canvas(), graph()];
  if (!svg) return;
  const next = Math.min(Math.max(wanted, LEVELS[0]), LEVELS.at(-1));
  const frame = box.getBoundingClientRect();
  const point = at ?? { x: frame.left + frame.width / 2, y: Math.max(frame.top, 0) };
  const before = svg.getBoundingClientRect();
  const ratio = next / scale;
  scale = next;
  draw();
  box.scrollLeft += (point.x - before.left) * (ratio - 1);
  scrollBy({ top: (point.y - before.top) * (ratio - 1), behavior: "instant" });
}

function draw() {
  const svg = graph();
  if (!svg) return;
  const { width, height } = svg.viewBox.baseVal;
  svg.setAttribute("width", Math.round(width * scale));
  svg.setAttribute("height", Math.round(height * scale));
  for (const one of document.querySelectorAll('[data-zoom="0"]')) one.textContent = `${Math.round(scale * 100)}%`;
}

function step(by) {
  if (by === 0) zoomTo(1);
  else zoomTo(by > 0 ? LEVELS.find((one) => one > scale + 0.01) ?? scale : LEVELS.findLast((one) => one < scale - 0.01) ?? scale);
}

function field() {
  return document.querySelector("[data-graph-find] input");
}

function findNodes() {
  const text = field().value.trim().toLowerCase();
  const all = [...graph().querySelectorAll("[data-node]")];
  return text ? all.filter((node) => node.getAttribute("aria-label").toLowerCase().includes(text)) : [];
}

function show() {
  const found = new Set(findNodes());
  for (const node of graph().querySelectorAll("[data-node]")) node.classList.toggle("is-found", found.has(node));
  const said = document.querySelector("[data-graph-find] output");
  said.textContent = field().value.trim() ? said.dataset.found.replace("#", found.size) : "";
}

/** Enter goes to the first that is found; without one the server looks among what is folded. */
function goTo(event) {
  if (!event.target.matches("[data-graph-find]")) return;
  const [first] = findNodes();
  if (!first) return;
  event.preventDefault();
  first.focus();
  first.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !graph()) return;
  if (event.target.closest("input, textarea, select, dialog, [data-drawer]")) return;
  const by = { "+": 1, "=": 1, "-": -1, 0: 0 }[event.key];
  if (by !== undefined) step(by);
  else if (event.key === "f") field()?.focus();
  else return;
  event.preventDefault();
}

function measure(touches) {
  const [a, b] = touches;
  return {
    size: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY),
    at: { x: (a.clientX + b.clientX) / 2, y: (a.clientY + b.clientY) / 2 },
  };
}

function isOnCanvas(event) {
  return canvas()?.contains(event.target);
}

document.addEventListener("wheel", (event) => {
  if (!event.ctrlKey || !isOnCanvas(event)) return;
  event.preventDefault();
  zoomTo(scale * Math.exp(-event.deltaY / 200), { x: event.clientX, y: event.clientY });
}, { passive: false });
document.addEventListener("touchstart", (event) => {
  pinch = event.touches.length === 2 && isOnCanvas(event) ? { scale, ...measure(event.touches) } : undefined;
});
document.addEventListener("touchmove", (event) => {
  if (!pinch || event.touches.length !== 2) return;
  event.preventDefault();
  const { size, at } = measure(event.touches);
  zoomTo((pinch.scale * size) / pinch.size, at);
}, { passive: false });
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-zoom]");
  if (button) step(Number(button.dataset.zoom));
});
document.addEventListener("keydown", press);
document.addEventListener("input", (event) => {
  if (event.target === field()) show();
});
document.addEventListener("submit", goTo);
document.addEventListener("htmx:after:swap", start);

/** The parts of the page that were swapped are as the server drew them. */
function start() {
  for (const part of document.querySelectorAll("[data-zoom-part][hidden]")) part.hidden = false;
  if (scale !== 1) draw();
}

start();
