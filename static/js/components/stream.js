/**
 * Listens to what the server tells while a plan is calculated or a run goes on (web/streams.py).
 * The meter follows the objects that are planned; at the end, and when something else moved, the page asks for its parts.
 * Where no stream can be had it asks from time to time instead.
 */
const ASK_EVERY = 700;
const TRIES = 3;
let source, address, timer;
let failures = 0;

function watcher() {
  return document.querySelector("[data-stream]");
}

function ask() {
  watcher()?.dispatchEvent(new Event("look"));
}

function show({ done, expected }) {
  const meter = document.querySelector("[data-progress]");
  if (meter) {
    meter.max = Math.max(expected, done);
    meter.value = done;
  } else if (expected) ask();
  for (const count of document.querySelectorAll("[data-progress-done]")) count.textContent = done;
}

function askFromTimeToTime() {
  shut();
  timer ??= setInterval(() => (watcher() ? ask() : rest()), ASK_EVERY);
}

function rest() {
  clearInterval(timer);
  timer = undefined;
}

function shut() {
  source?.close();
  source = undefined;
}

function open() {
  source = new EventSource(address);
  source.addEventListener("open", () => (failures = 0));
  source.addEventListener("objects", (event) => show(JSON.parse(event.data)));
  source.addEventListener("moved", ask);
  source.addEventListener("done", () => {
    shut();
    ask();
  });
  source.addEventListener("error", () => {
    failures += 1;
    document.dispatchEvent(new Event("server:silent"));
    if (source?.readyState === EventSource.CLOSED || failures >= TRIES) askFromTimeToTime();
  });
}

/** The part that watches is swapped too: it begins a stream, and its absence ends it. */
function follow() {
  const named = watcher()?.dataset.stream;
  if (!named) {
    shut();
    rest();
    return;
  }
  const path = new URL(named, location.href).pathname;
  if (timer || (source && address && new URL(address, location.href).pathname === path)) return;
  shut();
  address = named;
  open();
}

follow();
document.addEventListener("htmx:after:swap", follow);
addEventListener("pagehide", shut);
