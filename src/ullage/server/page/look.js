// A session log of another agent: what fills its window. The server reads it and keeps nothing.

import { announce, byId, button, h, replace } from "./dom.js";
import { bytes, counted, firstLine, number } from "./format.js";

/** Shows what was found in a log in the middle column; `choose(session)` looks at another session of the file. */
export function drawLook(look, file, close) {
  const { log } = look;
  const about = [log.program || log.format, counted(log.calls, "call"), counted(log.lines, "line"), bytes(file.size)].filter(Boolean);
  const reasons = Object.entries(log.skipped);
  replace(
    byId("looked"),
    h("h2", {}, log.title || file.name),
    h("p", { class: "hint" }, about.join(" · ")),
    log.title ? h("p", { class: "hint" }, file.name) : null,
    log.skipped_lines ? h("p", { class: "skipped" }, `${counted(log.skipped_lines, "line")} skipped${reasons.length ? ": " : ""}`, reasons.map(([reason, count]) => `${reason} (${number(count)})`).join(", ")) : null,
    log.other_sessions ? h("p", { class: "hint" }, `The file holds ${counted(log.other_sessions, "other session")}.`) : null,
    h("h3", {}, "The largest in the window"),
    h("ol", { class: "items", "aria-label": "The largest in the window" }, look.largest.map((item) => h("li", {}, itemLine(item)))),
    h("p", { class: "looked-foot" }, button("Close the log", close)),
  );
  announce(`${file.name}: ${number(look.reading.used.tokens)} tokens in the window`);
}

const itemLine = (item) =>
  h(
    "div",
    { class: "item", "data-item": item.part },
    h("span", { class: "item-place" }, `#${item.position}`),
    h("span", { class: "item-text" }, h("strong", {}, [item.row, item.label || item.name].filter(Boolean).join(" · ")), " ", firstLine(item.preview, 110)),
    h("span", { class: "row-tokens" }, number(item.tokens)),
  );

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
