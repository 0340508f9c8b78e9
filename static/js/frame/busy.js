/**
 * A form that was sent says so on its button, and is not sent twice: by htmx until its answer is there, else until the
 * next page. Without script the browser shows that it loads.
 */
const RELEASE_AFTER = 15_000; // an answer that is a file leaves the page

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
  setTimeout(() => { // once every script has seen it: htmx sends it, or another one refuses it
    if (event.defaultPrevented) return;
    sentBy.delete(form);
    mark(form, event.submitter);
    setTimeout(release, RELEASE_AFTER, form);
  });
});

// A form may also ask without being sent, such as for the problems of what was pasted: that is not busy.
document.addEventListener("htmx:before:request", (event) => {
  if (sentBy.has(event.target)) mark(event.target, sentBy.get(event.target));
});
document.addEventListener("htmx:finally:request", (event) => {
  if (sentBy.delete(event.target)) release(event.target);
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[aria-busy]")) release(form);
});
