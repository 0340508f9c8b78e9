/**
 * Folds long changes of a change record on the screen and unfolds them for printing. Without script, nothing is folded.
 */
const folds = [...document.querySelectorAll("[data-fold]")];
const note = document.querySelector("[data-folding]");
let shut = [];

function fold() {
  const linked = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (const one of folds) one.open = one.contains(linked);
  if (note) note.hidden = false;
}

function unfold() {
  for (const one of folds) one.open = true;
}

note?.querySelector("[data-unfold]").addEventListener("click", () => {
  unfold();
  note.hidden = true;
});
addEventListener("beforeprint", () => {
  shut = folds.filter((one) => !one.open);
  unfold();
});
addEventListener("afterprint", () => {
  for (const one of shut) one.open = false;
});
fold();
