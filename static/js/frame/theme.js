/** The light and dark toggle: acts at once and leaves a cookie; without script the form does the same. */
const form = document.querySelector("[data-theme-form]");
const button = form?.querySelector("[data-theme-toggle]");
const word = form?.querySelector("[data-theme-word]");

function shownTheme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function nameOther() {
  const other = shownTheme() === "dark" ? "light" : "dark";
  button.value = other;
  word.textContent = word.dataset[other];
}

if (form) {
  nameOther();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameOther);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    document.documentElement.dataset.theme = button.value;
    document.cookie = `theme=${button.value}; path=/; max-age=31536000; samesite=lax`;
    nameOther();
  });
}
