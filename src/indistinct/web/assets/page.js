// Uploads: a file goes to the private folder of this session as it is read, and its field is told when it is there.
document.addEventListener("change", (event) => {
  const field = event.target;
  if (!field.matches?.("input[type=file][data-upload]") || !field.files.length) return;
  const file = field.files[0];
  const bar = document.getElementById(field.id + "-progress");
  const request = new XMLHttpRequest();
  const tell = (detail) => field.dispatchEvent(new CustomEvent("uploaded", { detail }));
  request.open("PUT", `/upload/${field.dataset.upload}?name=${encodeURIComponent(file.name)}`);
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
  if (file.size > Number(field.dataset.most || Infinity)) {
    tell({ message: field.dataset.refused });
    return;
  }
  request.send(file);
});
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
