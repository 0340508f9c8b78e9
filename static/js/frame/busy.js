/**
 * Mark the button of a sent form as busy and prevent a second submit: for htmx until the answer arrives, else until the
 * next page loads. Without JavaScript, the browser shows its own loading indicator.
 */
const RELEASE_AFTER = 15_000; // a download does not replace the page

function release(form) {
  form.removeAttribute("aria-busy");
  for (const button of form.querySelectorAll("[data-sending]")) delete button.dataset.sending;
}

function mark(form, button) {
  form.setAttribute("aria-busy", "true");
  if (button?.matches?.("button")) button.dataset.sending = "";
}

const sentBy = new WeakMap();

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.getAttribute("aria-busy") === "true") {
    event.preventDefault();
    event.stopImmediatePropagation();
  } else {
    sentBy.set(form, event.submitter);
  }
}, true);

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  setTimeout(() => { // after all other handlers: htmx sends it, or a script prevents it
    if (event.defaultPrevented) return;
    sentBy.delete(form);
    mark(form, event.submitter);
    setTimeout(release, RELEASE_AFTER, form);
  });
});

// htmx also sends requests of a form without a submit, such as the check of pasted text: these do not make it busy.
document.addEventListener("htmx:before:request", (event) => {
  if (sentBy.has(event.target)) mark(event.target, sentBy.get(event.target));
});
document.addEventListener("htmx:finally:request", (event) => {
  if (sentBy.delete(event.target)) release(event.target);
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[aria-busy]")) release(form);
});
