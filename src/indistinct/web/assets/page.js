// A step begins at its top: a browser would go back to where another visit had scrolled to, before the step is drawn.
history.scrollRestoration = "manual";
// Uploads: a file goes to the private folder of this session as it is read, and its field is told when it is there.
// Several files of one table go into one folder, one after another.
const sendFile = (field, file, query, tell) => {
  const bar = document.getElementById(field.id + "-progress");
  const request = new XMLHttpRequest();
  request.open("PUT", `/upload/${field.dataset.upload}?name=${encodeURIComponent(file.name)}${query}`);
  request.upload.onprogress = (step) => {
    if (!bar) return;
    bar.hidden = false;
    bar.max = step.total;
    bar.value = step.loaded;
  };
  request.onload = () => {
    let answer = {};
    try {
      answer = JSON.parse(request.responseText);
    } catch {
      answer = { message: "the server did not understand this upload" };
    }
    tell(request.status === 200 ? answer : { message: answer.message ?? "the upload was refused" });
  };
  request.onerror = () => tell({ message: "the upload broke off: the file may be too large, or the server has ended" });
  request.send(file);
};
const folderOf = (files) => {
  const [first, ...others] = files.map((file) => file.name);
  let length = 0;
  while (length < first.length && others.every((name) => name[length] === first[length])) length += 1;
  return first.slice(0, length).replace(/[^\p{L}]+$/u, "") || "tables";
};
document.addEventListener("change", (event) => {
  const field = event.target;
  if (!field.matches?.("input[type=file][data-upload]") || !field.files.length) return;
  const files = [...field.files];
  const tell = (detail) => field.dispatchEvent(new CustomEvent("uploaded", { detail }));
  if (files.some((file) => file.size > Number(field.dataset.most || Infinity))) {
    tell({ message: field.dataset.refused });
    return;
  }
  if (files.length === 1) {
    sendFile(field, files[0], "", tell);
    return;
  }
  const folder = encodeURIComponent(folderOf(files));
  const sendNext = (place) => {
    const query = `&folder=${folder}&first=${place ? 0 : 1}`;
    const last = place === files.length - 1;
    sendFile(field, files[place], query, (answer) => (last || answer.message ? tell(answer) : sendNext(place + 1)));
  };
  sendNext(0);
});
// A file can be dropped on its field, and anywhere on the page nothing else happens to it.
const dropField = (event) => event.target.closest?.(".drop")?.querySelector("input[type=file]") ?? null;
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  for (const each of document.querySelectorAll(".drop.over")) each.classList.remove("over");
  dropField(event)?.closest(".drop").classList.add("over");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  const field = dropField(event);
  if (!field || !event.dataTransfer.files.length) return;
  field.files = event.dataTransfer.files;
  field.dispatchEvent(new Event("change", { bubbles: true }));
});
// What to do when the server does not answer any more stands where the framework says that it does not.
const lost = document.getElementById("popup");
const sayWhatIsLost = async () => {
  const words = document.getElementById("step")?.dataset;
  if (!words || lost.ariaHidden !== "false") return;
  // A server that answers and does not know this browser has ended its session, or was started again.
  const answer = await fetch("/open", { cache: "no-store", redirect: "manual" }).catch(() => null);
  const text = answer?.status === 403 ? words.ended : words.lost;
  if (lost.textContent !== text) lost.textContent = text;
};
if (lost) {
  lost.setAttribute("role", "alert");
  lost.textContent = "";
  new MutationObserver(sayWhatIsLost).observe(lost, { attributeFilter: ["aria-hidden"] });
  setInterval(sayWhatIsLost, 3000);
}
// The keyboard stays where it was when a part of the page is drawn anew. An observer hears of every change before
// anything else runs, so nobody meets the page without the focus that it had. The controls that had it are known by
// name, the last one at the end: one that is gone, as a button is that ended with its work, yields to the one that the
// new step names, or else to the one before. One that is disabled for a while gets the focus when it can take it.
let visited = [];
let drawn = null;
const nameOf = (control) => {
  if (control.id) return `#${CSS.escape(control.id)}`;
  const address = control.getAttribute("href");
  return address ? `a[href="${CSS.escape(address)}"]` : null;
};
const isThere = (name) => document.querySelector(name) !== null;
const stayFocused = () => {
  const step = document.querySelector("[data-focus]:not([hidden])");
  if (step && step !== drawn) {
    drawn = step;
    const named = document.getElementById(step.dataset.focus);
    // Whoever went on to another field stays there, unless an error calls back.
    if (named && step.dataset.error) named.focus();
    else if (named && !(visited.length && isThere(visited.at(-1)))) visited.push(nameOf(named));
  }
  if (document.activeElement && document.activeElement !== document.body) return;
  while (visited.length && !isThere(visited.at(-1))) visited.pop();
  if (visited.length) document.querySelector(visited.at(-1)).focus({ preventScroll: true });
};
document.addEventListener("focusin", (event) => {
  const name = nameOf(event.target);
  if (name) visited = [...visited.filter((each) => each !== name).slice(-20), name];
});
// Whoever clicks outside every control leaves the one that had the focus.
document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest("a, button, input, select, textarea, summary, label, [tabindex]")) visited = [];
});
new MutationObserver(stayFocused).observe(document.documentElement, {
  childList: true,
  subtree: true,
  attributeFilter: ["disabled", "hidden"],
});
// A control that was drawn anew between press and release is clicked all the same: who leaves a field by a click on a
// button changes the one and means the other.
let pressed = null;
const pressable = (event) => event.target.closest?.("button, a[href], summary, input") ?? null;
document.addEventListener("pointerdown", (event) => {
  pressed = pressable(event);
});
document.addEventListener("pointerup", (event) => {
  const released = pressable(event);
  const name = pressed && nameOf(pressed);
  if (name && released && !pressed.isConnected && name === nameOf(released)) released.click();
  pressed = null;
});
