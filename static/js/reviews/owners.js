/**
 * `n` goes to the next object or line whose owner changes; every row is a link, also without script.
 */
function press(event) {
  if (event.key !== "n" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  const rows = [...document.querySelectorAll("[data-owner-row]")];
  const next = rows[rows.indexOf(document.activeElement) + 1] ?? rows[0];
  if (!next) return;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  event.preventDefault();
}

document.addEventListener("keydown", press);
