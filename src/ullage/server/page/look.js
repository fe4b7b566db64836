// A session log of another agent that is dropped on the page, or chosen. The server reads it and keeps nothing.

import { byId } from "./dom.js";

/** Takes files that are dropped anywhere on the page, or chosen. `look(file)` looks at one. */
export function takeFiles(look) {
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
    const [file] = event.dataTransfer.files;
    if (file) look(file);
  });
  byId("open-log").onclick = () => byId("log-file").click();
  byId("log-file").onchange = (event) => {
    const [file] = event.target.files;
    if (file) look(file);
    event.target.value = "";
  };
}
