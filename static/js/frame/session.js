/**
 * Keeps what was typed when a session ends: a form with text is sent only once the session is known to live, else the
 * form says what to do and stays as it is. After a sign-in in another tab it is sent with the token of that session.
 */
const PATIENCE = 4000;
const TYPED = "textarea, input:not([type]), input[type=text], input[type=search], input[type=url], input[type=number]";
const person = document.querySelector("[data-person]");
const notice = document.querySelector("[data-signed-out]");
const asking = new WeakSet();
const known = new WeakSet();

function hasText(form) {
  const all = [...form.elements];
  return all.some((one) => (one.matches(TYPED) ? one.value !== one.defaultValue : one.matches("[type=file]") && one.files.length > 0));
}

/** "here", "gone" or "other"; "unknown" when nothing answers, and then the form is sent as if nothing was asked. */
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
  asking.add(form);
  const state = await ask();
  asking.delete(form);
  show(state, form);
  if (state === "gone" || state === "other") return;
  known.add(form);
  form.requestSubmit(submitter);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!person || form.method !== "post" || known.delete(form)) return;
  if (!asking.has(form) && !hasText(form)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!asking.has(form)) send(form, event.submitter);
}, true);

/** A part of the page that is asked for again and again says so too; what the page shows may be old. */
document.addEventListener("htmx:response:error", (event) => {
  if (person && notice.hidden && event.detail?.ctx?.response?.status === 401) show("gone");
});
