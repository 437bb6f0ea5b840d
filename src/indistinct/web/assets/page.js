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
// Which field has the focus, so that it can be given back when a step is drawn anew.
document.addEventListener("focusin", (event) => {
  window.lastFocus = event.target.id;
});
// Whoever clicks beside every control leaves the one that had the focus.
document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest("a, button, input, select, textarea, summary, label, [tabindex]")) window.lastFocus = "";
});
// A control that was drawn anew while it had the focus, as a button is that began long work, gets it back.
window.giveFocusBack = () => {
  if (document.activeElement !== document.body || !window.lastFocus) return;
  document.getElementById(window.lastFocus)?.focus({ preventScroll: true });
};
// A button that was drawn anew between press and release is clicked all the same: who leaves a field by a click on a
// button changes the one and means the other.
let pressed = null;
const pressable = (event) => event.target.closest?.("button[id], a[id], summary[id], input[id]") ?? null;
document.addEventListener("pointerdown", (event) => {
  pressed = pressable(event);
});
document.addEventListener("pointerup", (event) => {
  const released = pressable(event);
  if (pressed && released && pressed !== released && !pressed.isConnected && pressed.id === released.id) {
    released.click();
  }
  pressed = null;
});
