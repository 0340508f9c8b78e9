/**
 * Keys and hover of the graph: arrows follow references and columns, Enter opens the object, Space draws its reach.
 * Everything here is a short cut: each node is a link to its reach.
 */
const NEAR = "is-near";

const find = (number) => document.getElementById(`node-${number}`);
const listBeside = (node) => node.dataset.beside.split(" ").filter(Boolean);

function findSource(graph, node) {
  return [...graph.querySelectorAll("[data-node]")].find((other) => listBeside(other).includes(node.dataset.node));
}

function findInColumn(graph, node, step) {
  const column = [...graph.querySelectorAll(`[data-column="${node.dataset.column}"]`)];
  return column[column.indexOf(node) + step];
}

function mark(node, isNear) {
  const graph = node.closest("[data-graph]");
  for (const line of graph.querySelectorAll("[data-ends]")) {
    const ends = line.dataset.ends.split(" ");
    if (!ends.includes(node.dataset.node)) continue;
    line.classList.toggle(NEAR, isNear);
    for (const number of ends) find(number)?.classList.toggle(NEAR, isNear && number !== node.dataset.node);
  }
}

function press(event) {
  const graph = event.target.closest?.("[data-graph]");
  if (!graph || event.ctrlKey || event.metaKey || event.altKey) return;
  const node = event.target.closest("[data-node]");
  if (event.key === "Escape" && graph.dataset.clear) {
    location.assign(graph.dataset.clear);
    return;
  }
  if (!node) return;
  const next = {
    ArrowRight: () => find(listBeside(node)[0]),
    ArrowLeft: () => findSource(graph, node),
    ArrowUp: () => findInColumn(graph, node, -1),
    ArrowDown: () => findInColumn(graph, node, 1),
  }[event.key];
  if (next) {
    next()?.focus();
  } else if (event.key === "Enter" && node.dataset.open) {
    location.assign(node.dataset.open);
  } else if (event.key === " ") {
    location.assign(node.getAttribute("href"));
  } else {
    return;
  }
  event.preventDefault();
}

function listen(event, isNear) {
  const node = event.target.closest?.("[data-node]");
  if (node) mark(node, isNear);
}

document.addEventListener("keydown", press);
for (const name of ["mouseover", "focusin"]) document.addEventListener(name, (event) => listen(event, true));
for (const name of ["mouseout", "focusout"]) document.addEventListener(name, (event) => listen(event, false));
