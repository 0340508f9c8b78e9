/** The key "/" puts the cursor into the search field of the top bar, or leads to the page of the search. */
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog, [contenteditable]")) return;
  const field = document.querySelector("[data-search]");
  const isShown = field && field.offsetParent !== null;
  if (isShown) field.focus();
  else document.querySelector("[data-search-link]")?.click();
  if (field) event.preventDefault();
});
