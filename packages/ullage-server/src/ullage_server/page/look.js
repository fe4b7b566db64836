// Files that are dropped on the page: images and PDFs go out with the next message, a session log of another agent is
// looked at. The server reads a log and keeps nothing.

import { byId } from "./dom.js";

const SENT = /^(image\/|application\/pdf$)/;

/** Takes files that are dropped anywhere on the page, or chosen. `look(file)` looks at one, `attach(files)` sends them. */
export function takeFiles(look, attach) {
  const drop = byId("drop");
  const isFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    drop.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) drop.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    drop.hidden = true;
    if (!isFile(event)) return;
    event.preventDefault();
    const files = [...event.dataTransfer.files];
    const isWriting = byId("composer").checkVisibility();
    const isToSend = event.target.closest?.("#composer") || files.every((file) => SENT.test(file.type));
    if (!files.length) return;
    if (isWriting && isToSend) attach(files);
    else look(files[0]);
  });
  for (const button of document.querySelectorAll("[data-opens-log]")) button.onclick = () => byId("log-file").click();
  byId("log-file").onchange = (event) => {
    const [file] = event.target.files;
    if (file) look(file);
    event.target.value = "";
  };
}
