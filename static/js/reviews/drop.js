/**
 * Accepts dropped files and folders on the new review form, and checks manifests when they are added.
 * Without script the two file inputs do the same; problems are then told after the form was sent.
 */
let form = document.querySelector("[data-drop-form]");
const MANIFEST = /\.(ya?ml|json)$/i;
const CHART = /(^|\/)Chart\.yaml$/;
const ARCHIVE = /\.(tgz|tar\.gz)$/;
const SHOWN_FILES = 12;
const KUSTOMIZATION = /(^|\/)(kustomization\.ya?ml|Kustomization)$/;

function listEntries(reader) {
  return new Promise((resolve, reject) => reader.readEntries(resolve, reject));
}

function openFile(entry) {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

async function collect(entry, path, into) {
  if (entry.isFile) {
    into.push(new File([await openFile(entry)], path + entry.name));
    return;
  }
  const reader = entry.createReader();
  for (let batch = await listEntries(reader); batch.length; batch = await listEntries(reader)) {
    for (const child of batch) await collect(child, `${path}${entry.name}/`, into);
  }
}

async function readDrop(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const files = [];
  for (const entry of entries) await collect(entry, "", files);
  if (!files.length && !entries.length) return [...transfer.files];
  // A kustomization or a chart may need files of any kind; without one, manifests are all that counts.
  const takesAll = files.some((file) => KUSTOMIZATION.test(file.name) || CHART.test(file.name));
  const manifests = files.filter((file) => MANIFEST.test(file.name) || ARCHIVE.test(file.name));
  if (takesAll) return files;
  // Without any manifest, the answer says what is wrong with the others; a few suffice.
  return manifests.length ? manifests : files.slice(0, SHOWN_FILES);
}

function put(input, files) {
  const transfer = new DataTransfer();
  for (const file of files) transfer.items.add(file);
  input.files = transfer.files;
}

function listPaths() {
  const files = [...form.querySelector("[data-files]").files, ...form.querySelector("[data-folder]").files];
  form.querySelector("[data-paths]").value = JSON.stringify(files.map((file) => file.webkitRelativePath || file.name));
}

function folderOf(path) {
  return path.split("/").slice(0, -1).join("/") || ".";
}

function offer(list, names) {
  form.querySelector(list).replaceChildren(...names.map((name) => new Option(name, name)));
}

/** Offers the folders and archives among the files that can be rendered; sub-charts belong to the chart around them. */
function offerRendering(files) {
  const paths = files.map((file) => file.webkitRelativePath || file.name);
  offer("[data-kustomizations]", paths.filter((path) => KUSTOMIZATION.test(path)).map(folderOf));
  const folders = paths.filter((path) => CHART.test(path) && !path.includes("/charts/")).map(folderOf);
  offer("[data-charts]", [...folders, ...paths.filter((path) => ARCHIVE.test(path) && !path.includes("/charts/"))]);
}

/** The names of the chosen files; of many they are folded, so that the form stays in sight. */
function showChosen() {
  listPaths();
  const chosen = form.querySelector("[data-chosen]");
  const files = [...form.querySelector("[data-files]").files, ...form.querySelector("[data-folder]").files];
  offerRendering(files);
  chosen.hidden = !files.length;
  chosen.open = files.length <= SHOWN_FILES;
  chosen.querySelector("ul").replaceChildren(
    ...files.map((file) => {
      const item = document.createElement("li");
      item.textContent = file.webkitRelativePath || file.name;
      return item;
    }),
  );
}

let pending;
let asked = 0;

/** What the manifests hold, once they are left alone for a moment; an answer to what was asked before says nothing. */
function check() {
  clearTimeout(pending);
  asked += 1;
  pending = setTimeout(tell, 250, asked);
}

async function tell(number) {
  const request = { method: "POST", body: new FormData(form), headers: { "HX-Request": "true" } };
  const answer = await fetch(form.dataset.checkUrl, request).catch(() => undefined); // sending the form tells, too
  const text = answer?.ok ? await answer.text().catch(() => undefined) : undefined;
  if (text !== undefined && number === asked) form.querySelector("[data-found]").innerHTML = text;
}

function listen() {
  const drop = form.querySelector("[data-drop]");
  form.querySelector("[data-drop-hint]").hidden = false;
  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("is-over");
  });
  form.addEventListener("dragleave", (event) => {
    if (!form.contains(event.relatedTarget)) drop.classList.remove("is-over");
  });
  form.addEventListener("drop", async (event) => {
    event.preventDefault();
    drop.classList.remove("is-over");
    put(form.querySelector("[data-files]"), await readDrop(event.dataTransfer));
    showChosen();
    check();
  });
  form.addEventListener("change", (event) => {
    if (!event.target.matches("[data-files], [data-folder], [data-text], [data-kustomization], [data-chart]")) return;
    showChosen();
    check();
  });
  form.addEventListener("submit", send);
}

/** Puts the form of an answer with problems in the place of this one; the chosen files move along. */
function replaceForm(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("[data-drop-form]");
  if (!fresh) return false;
  const next = document.adoptNode(fresh);
  for (const kind of ["[data-files]", "[data-folder]"]) {
    next.querySelector(kind).replaceWith(form.querySelector(kind));
  }
  form.replaceWith(next);
  form = next;
  listen();
  showChosen();
  (form.querySelector("[data-error-summary]") ?? form.querySelector("[data-found][tabindex]"))?.focus();
  return true;
}

/** Sends the form itself: a page that comes back with problems could not keep the chosen files. */
async function send(event) {
  if (event.submitter?.hasAttribute("formaction")) return; // leads to another page, which needs no files
  event.preventDefault();
  const button = event.submitter ?? form.querySelector(".submit button");
  button.disabled = true;
  button.dataset.sending = "";
  form.setAttribute("aria-busy", "true");
  const answer = await fetch(form.action, { method: "POST", body: new FormData(form) }).catch(() => undefined);
  if (answer?.redirected) {
    location.assign(answer.url);
    return;
  }
  if (answer?.status === 422 && replaceForm(await answer.text())) return;
  button.disabled = false;
  HTMLFormElement.prototype.submit.call(form);
}

/** A preset is used as soon as it is chosen; without script a button does it. */
function offerPresets(choice) {
  choice.querySelector("button").hidden = true;
  choice.addEventListener("change", () => choice.submit());
}

if (form) listen();
const presets = document.querySelector("[data-preset-form]");
if (presets) offerPresets(presets);
