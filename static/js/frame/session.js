/**
 * Keeps what was typed when a session ends. Before a form with text or files is sent, the script asks whether the session
 * is still valid. If it is not, the form stays as it is and says what to do. After a sign-in in another tab, the form can
 * be sent: it takes the token of the new session.
 */
const PATIENCE = 4000;
const TYPED = "textarea, input:not([type]), input[type=text], input[type=search], input[type=url], input[type=number]";
const person = document.querySelector("[data-person]");
const notice = document.querySelector("[data-signed-out]");
const known = new WeakSet();

/** A form that was refused has what was typed as its default values, so any text counts. */
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

/** Says so as well when a part of the page can no longer be loaded, because what the page shows may be outdated. */
document.addEventListener("htmx:response:error", (event) => {
  if (person && notice.hidden && event.detail?.ctx?.response?.status === 401) show("gone");
});
