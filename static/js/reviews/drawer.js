/**
 * The drawer of risks: opens beside the page, acknowledges in place, gives focus back when it closes.
 * On narrow screens and without script its links lead to the page with the same list.
 */
const drawer = document.querySelector("[data-drawer]");
const list = document.getElementById("risk-list");
let opener;
let isOfHeader = false;

function isWide() {
  return matchMedia("(min-width: 48.0625rem)").matches;
}

function tell(isOpen) {
  for (const link of document.querySelectorAll("a[data-risks]")) {
    link.setAttribute("aria-expanded", String(isOpen));
    link.setAttribute("aria-controls", "drawer");
  }
}

/** Brings a risk into view and opens what hides it. */
function showRisk(hash) {
  const found = hash && document.getElementById(decodeURIComponent(hash.slice(1)));
  if (!found) return false;
  for (let fold = found.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  found.focus();
  found.scrollIntoView({ block: "nearest" });
  return true;
}

async function open(link) {
  opener = link;
  isOfHeader = link.closest("[data-review-header]") !== null;
  const address = new URL(link.href);
  try {
    await globalThis.htmx.ajax("GET", address.pathname, { target: "#risk-list", swap: "innerHTML" });
  } catch {
    location.assign(link.href);
    return;
  }
  drawer.hidden = false;
  tell(true);
  if (!showRisk(address.hash)) document.getElementById("risks-heading")?.focus();
}

function close() {
  if (!drawer || drawer.hidden) return;
  drawer.hidden = true;
  tell(false);
  // An acknowledgment replaces the header: the link that opened the drawer is now the button of the next act.
  const act = isOfHeader ? document.querySelector("[data-review-header] [data-next-act]") : null;
  const back = opener?.isConnected ? opener : (act ?? document.querySelector("a[data-risks]"));
  back?.focus();
}

function rows() {
  return [...list.querySelectorAll(".risk")].filter((row) => row.offsetParent !== null);
}

function step(by) {
  const all = rows();
  const at = all.indexOf(document.activeElement.closest(".risk"));
  all[Math.min(Math.max(at + by, 0), all.length - 1)]?.focus();
}

function acknowledge() {
  const row = document.activeElement.closest(".risk");
  (row ?? list).querySelector("[data-acknowledge]")?.click();
}

/** The list is there: on its own page, or in the drawer that is open. */
function isShown() {
  return list && (list.matches("[data-risk-page]") || (drawer && !drawer.hidden));
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && drawer && !drawer.hidden && !document.querySelector("dialog[open]")) {
    close();
    event.stopImmediatePropagation();
    return;
  }
  if (event.target.closest("input, textarea, select, dialog")) return;
  if (event.key === "r" && !isShown()) document.querySelector("a[data-risks]")?.click();
  else if (isShown() && event.key === "j") step(1);
  else if (isShown() && event.key === "k") step(-1);
  else if (isShown() && event.key === "a") acknowledge();
  else return;
  event.stopImmediatePropagation();
  event.preventDefault();
}

/** The pressed button is gone after the answer: focus goes to the next one, else to the heading. */
function refocus(event) {
  if (!isShown() || document.activeElement !== document.body) return;
  if (event.target !== list && !list.contains(event.target)) return;
  const next = list.querySelector("[data-acknowledge]") ?? document.getElementById("risks-heading");
  next?.focus();
}

if (list) {
  tell(false);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (event.target.closest("[data-close-drawer]")) close();
    if (!link || !drawer || !isWide() || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (drawer.contains(link) && link.pathname === location.pathname) close(); // what it leads to may lie below
    const risks = document.querySelector("#strip a[data-risks]");
    if (!risks || new URL(link.href, location.href).pathname !== new URL(risks.href).pathname) return;
    event.preventDefault();
    open(link);
  });
  document.addEventListener("keydown", press, true);
  document.addEventListener("htmx:after:swap", () => {
    if (drawer) tell(!drawer.hidden);
  });
  document.addEventListener("htmx:after:swap", refocus);
  if (list.matches("[data-risk-page]")) showRisk(location.hash);
}
