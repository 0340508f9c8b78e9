/**
 * Says how long ago a moment was, or how soon it will be, and shows the moment itself as the tooltip.
 * Without script, on paper, and on pages of the audit log the page keeps the absolute time that the server wrote.
 */
const SELECTOR = "time[data-relative]:not([data-utc] *)";
const UNITS = [["second", 60], ["minute", 60], ["hour", 24], ["day", 30]];
const EVERY = 20_000;
const language = document.documentElement.lang || "en";
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const day = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", year: "numeric" });
const local = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "long" });
let isPrinting = false;

/** The words for a distance in seconds, undefined from 30 days on. */
function describe(seconds) {
  if (Math.abs(seconds) < 5) return relative.format(0, "second");
  let amount = seconds;
  for (const [unit, size] of UNITS) {
    if (Math.abs(amount) < size) return relative.format(Math.trunc(amount), unit).replace(".", "");
    amount /= size;
  }
  return undefined;
}

function show(element, now) {
  const at = new Date(element.dateTime);
  if (Number.isNaN(at.getTime())) return;
  element.dataset.absolute ??= element.textContent;
  element.title = `${local.format(at)} · ${element.dataset.absolute}`;
  const text = describe((at.getTime() - now) / 1000) ?? day.format(at);
  if (element.textContent !== text) element.textContent = text;
}

function showAll() {
  if (isPrinting) return; // paper keeps the absolute time, whatever the timer or a swap does meanwhile
  const now = Date.now();
  for (const element of document.querySelectorAll(SELECTOR)) show(element, now);
}

function beginPrint() {
  isPrinting = true;
  for (const element of document.querySelectorAll("time[data-absolute]")) element.textContent = element.dataset.absolute;
}

function endPrint() {
  isPrinting = false;
  showAll();
}

showAll();
setInterval(showAll, EVERY);
document.addEventListener("htmx:after:swap", showAll);
addEventListener("beforeprint", beginPrint);
addEventListener("afterprint", endPrint);
