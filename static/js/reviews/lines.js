/**
 * Lines to comment on, chosen in a diff or in YAML: a click on a number chooses a line, a drag or Shift and a click
 * choose the lines between. The form below the text then has their numbers; without script they are typed there.
 */
const PLACES = ".diff:not(.is-small) .no, .yaml .ln";
/** Where the numbers of YAML end: they are drawn in the margin of a line. */
const MARGIN = 44;
let from;

const objectOf = (element) => element.closest("[data-scroll-object]");

/** The text that a line belongs to, and its number; nothing for a cell without one, or beside the numbers. */
function read(element, event) {
  const place = element.closest?.(PLACES);
  if (!place || !objectOf(place)?.querySelector("[data-line-comments]")) return undefined;
  const line = place.closest("tr, .ln");
  if (line.matches(".ln")) {
    if (event && event.clientX - line.getBoundingClientRect().left > MARGIN) return undefined;
    return { object: objectOf(place), number: Number(line.dataset.n), text: textOf(place) };
  }
  const side = [...line.querySelectorAll(".no")].indexOf(place) ? "diff-after" : "diff-live";
  const number = Number(place.textContent);
  return number ? { object: objectOf(place), number, text: side } : undefined;
}

const textOf = (line) => new URL(objectOf(line).querySelector("[data-line-comments]").dataset.url, location.href)
  .searchParams.get("text");

/** The elements of an object that stand for lines of a text, each with its number. */
function* listLines(object, text) {
  if (!text.startsWith("diff-")) {
    for (const line of object.querySelectorAll(".yaml .ln")) yield [line, Number(line.dataset.n)];
    return;
  }
  for (const row of object.querySelectorAll(".diff:not(.is-small) tr")) {
    const cell = row.querySelectorAll(".no")[text === "diff-after" ? 1 : 0];
    if (cell?.textContent) yield [cell, Number(cell.textContent)];
  }
}

function mark(object, { text, first, last }) {
  for (const line of document.querySelectorAll(".is-chosen-line")) line.classList.remove("is-chosen-line");
  let begin;
  for (const [line, number] of listLines(object, text)) {
    if (number < first || number > last) continue;
    begin ??= line;
    line.classList.add("is-chosen-line");
  }
  return begin;
}

/** Puts the lines into the form of their object, which is fetched first where it is not there. */
async function fill(object, { text, first, last }) {
  const part = object.querySelector("[data-line-comments]");
  const url = new URL(part.dataset.url, location.href);
  url.searchParams.set("text", text);
  if (!part.querySelector("[data-first-line]")) await htmx.ajax("GET", url.pathname + url.search, { target: part, swap: "innerHTML" });
  const side = part.querySelector("[data-lines-of]");
  if (!side) return;
  side.value = text;
  part.querySelector("[data-first-line]").value = first;
  part.querySelector("[data-last-line]").value = last;
  part.classList.add("is-chosen");
  part.querySelector("[data-say]").focus({ preventScroll: true });
}

const between = (a, b) => ({ text: a.text, first: Math.min(a.number, b.number), last: Math.max(a.number, b.number) });
const isSame = (a, b) => a && b && a.object === b.object && a.text === b.text;
let chosen;

function begin(event) {
  if (event.button) return;
  const at = read(event.target, event);
  if (!at) return;
  event.preventDefault();
  if (event.shiftKey && isSame(chosen, at)) mark(at.object, between(chosen, at));
  else chosen = at;
  from = chosen;
  mark(at.object, between(from, at));
}

function extend(event) {
  if (!from) return;
  const at = read(document.elementFromPoint(event.clientX, event.clientY) ?? document.body);
  if (isSame(from, at)) mark(from.object, between(from, at));
}

function end(event) {
  if (!from) return;
  const at = read(document.elementFromPoint(event.clientX, event.clientY) ?? document.body);
  const to = isSame(from, at) ? at : from;
  const start = from;
  from = undefined;
  fill(start.object, between(start, to));
}

/** What is typed into the form is marked in the text. */
function follow(event) {
  if (!event.target.matches("[data-lines-of], [data-first-line], [data-last-line]")) return;
  const part = event.target.closest("[data-line-comments]");
  if (!part) return;
  const first = Number(part.querySelector("[data-first-line]").value);
  const last = Number(part.querySelector("[data-last-line]").value) || first;
  const text = part.querySelector("[data-lines-of]").value;
  if (first) mark(objectOf(part), { text, first: Math.min(first, last), last: Math.max(first, last) });
}

/** A link to lines marks them, and leads to the first. */
function showLinked() {
  const found = /^#lines-([a-z_-]+)-(\d+)-(\d+)$/.exec(location.hash);
  const object = found && document.querySelector("[data-scroll-object].is-alone");
  if (object) mark(object, { text: found[1], first: Number(found[2]), last: Number(found[3]) })?.scrollIntoView({ block: "center" });
}

/** A line of YAML that folds what is below it does not fold when its number is chosen. */
function keepFold(event) {
  if (event.target.closest?.("summary.ln") && event.detail && read(event.target, event)) event.preventDefault();
}

/** Once the comment is sent, the form is below its text again. */
function release(event) {
  if (event.target.matches?.("[data-line-comments] form")) event.target.closest("[data-line-comments]").classList.remove("is-chosen");
}

document.addEventListener("pointerdown", begin);
document.addEventListener("pointermove", extend);
document.addEventListener("pointerup", end);
document.addEventListener("pointercancel", () => { from = undefined; });
document.addEventListener("click", keepFold);
document.addEventListener("input", follow);
document.addEventListener("submit", release);
document.addEventListener("keydown", (event) => {
  const part = event.key === "Escape" && event.target.closest?.("[data-line-comments].is-chosen");
  if (!part) return;
  part.classList.remove("is-chosen");
  part.querySelector("a, summary")?.focus();
});
addEventListener("hashchange", showLinked);
showLinked();
