/**
 * Ticks in the list of live objects: all of a kind at once, and how many are selected.
 * Everything here is a short cut: the form works without it.
 */
const form = document.querySelector("[data-ticks]");
const status = form?.querySelector("[data-ticked]");

function boxes(within) {
  return [...within.querySelectorAll("input[name=objects]")];
}

function show() {
  const ticked = boxes(form).filter((box) => box.checked).length;
  status.textContent = ticked ? `${ticked} ${status.dataset.ticked}` : "";
  for (const all of form.querySelectorAll("[data-tick-all]")) {
    const own = boxes(all.closest("tbody"));
    const count = own.filter((box) => box.checked).length;
    all.checked = count === own.length;
    all.indeterminate = count > 0 && count < own.length;
  }
}

if (form) {
  for (const label of form.querySelectorAll(".tick-all")) label.hidden = false;
  form.addEventListener("change", (event) => {
    if (event.target.matches("[data-tick-all]")) {
      for (const box of boxes(event.target.closest("tbody"))) box.checked = event.target.checked;
    }
    show();
  });
  show();
}
