/**
 * Keys of the frame: `g` then a number opens a tab, `g` then `b` goes to the next act.
 * Everything here is a short cut: the links and buttons work without it.
 */
const PATIENCE = 1500;
let until = 0;

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  if (event.key === "g") {
    until = event.timeStamp + PATIENCE;
    return;
  }
  if (event.timeStamp > until) return;
  until = 0;
  const wanted = event.key === "b" ? "[data-next-act]" : `[data-review-tab="${event.key}"]`;
  const found = /^[1-9b]$/.test(event.key) && document.querySelector(wanted);
  if (!found) return;
  if (event.key === "b") found.focus();
  else found.click();
  event.stopImmediatePropagation();
  event.preventDefault();
}

document.addEventListener("keydown", press, true);
