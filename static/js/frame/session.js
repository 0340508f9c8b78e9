/**
 * Keeps the input of a form when the session ends. Before the browser sends a form with text or files, the script checks
 * whether the session is still valid. If it is not, the browser does not send the form, and a notice says what to do.
 * After a sign-in in another tab, the form can be sent: the script gives it the token of the new session.
 */
const PATIENCE = 4000;
const TYPED = "textarea, input:not([type]), input[type=text], input[type=search], input[type=url], input[type=number]";
const person = document.querySelector("[data-person]");
const notice = document.querySelector("[data-signed-out]");
const known = new WeakSet();

/** Counts any text: a refused form comes back with its input as default values. */
function hasText(form) {
  return [...form.elements].some((one) => (one.matches(TYPED) ? one.value !== "" : one.matches("[type=file]") && one.files.length > 0));
}

/** Returns "here", "gone" or "other", or "unknown" without an answer in time: the form is then sent without a check. */
async function ask() {
  try {
    const answer = await fetch(person.href, { cache: "no-store", redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
    if (answer.type === "opaqueredirect" || answer.status === 401) return "gone";
    if (!answer.ok) return "unknown";
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (page.querySelector("[data-person]")?.textContent !== person.textContent) return "other";
    const token = page.querySelector("[name=csrfmiddlewaretoken]")?.value;
    for (const one of document.querySelectorAll("[name=csrfmiddlewaretoken]")) if (token) one.value = token;
    return "here";
  } catch {
    return "unknown";
  }
}

function show(state, form) {
  form?.querySelector("[data-signed-out]")?.remove();
  if (state !== "gone" && state !== "other") {
    notice.hidden = true;
    return;
  }
  const shown = form ? notice.cloneNode(true) : notice;
  for (const part of shown.querySelectorAll("[data-session]")) part.hidden = part.dataset.session !== state;
  if (form) (form.querySelector(".in") ?? form).prepend(shown);
  shown.hidden = false;
  if (form) shown.focus();
}

async function send(form, submitter) {
  form.setAttribute("aria-busy", "true"); // busy.js stops a second submit meanwhile
  if (submitter) submitter.dataset.sending = "";
  const state = await ask();
  form.removeAttribute("aria-busy");
  if (submitter) delete submitter.dataset.sending;
  show(state, form);
  if (state === "gone" || state === "other") return;
  known.add(form);
  form.requestSubmit(submitter);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!person || form.method !== "post" || form.ariaBusy === "true" || known.delete(form) || !hasText(form)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  send(form, event.submitter);
}, true);

/** Shows the notice too when a part of the page cannot be loaded: the page may be outdated. */
document.addEventListener("htmx:response:error", (event) => {
  if (person && notice.hidden && event.detail?.ctx?.response?.status === 401) show("gone");
});
