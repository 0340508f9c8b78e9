/**
 * Shows a notice while the server does not answer, and removes it when it does.
 * A request that failed, and a stream that broke, are only a hint: whether the server lives is asked at /livez.
 */
const ASK_EVERY = 1000;
const PATIENCE = 4000;
const notice = document.querySelector("[data-lost]");
let timer;

async function isThere() {
  try {
    const answer = await fetch("/livez", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    return answer.ok;
  } catch {
    return false;
  }
}

async function ask() {
  const wasLost = !notice.hidden;
  notice.hidden = await isThere();
  timer = notice.hidden ? undefined : setTimeout(ask, ASK_EVERY);
  if (notice.hidden && wasLost) document.querySelector("[data-stream]")?.dispatchEvent(new Event("look"));
}

function suspect() {
  timer ??= setTimeout(ask, 0);
}

if (notice) {
  document.addEventListener("htmx:error", suspect);
  document.addEventListener("htmx:response:error", (event) => {
    if (event.detail?.ctx?.response?.status >= 500) suspect();
  });
  document.addEventListener("server:silent", suspect);
}
