/** What the schema says of a field is fetched when its row is opened; without script the link in the row leads there. */
document.addEventListener(
  "toggle",
  (event) => {
    if (event.target.matches?.("[data-field-row]") && event.target.open) {
      event.target.querySelector("[data-schema]")?.dispatchEvent(new Event("opened"));
    }
  },
  true,
);
