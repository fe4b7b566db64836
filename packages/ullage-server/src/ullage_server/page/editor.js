// The editor of a message that waits to be delivered. Loaded with the first one that is edited.

import { button, h, replace } from "./dom.js";

/** The line of the queue in which `one` is edited; `composer` has the queue. */
export function editor(composer, one, text) {
  const box = h("textarea", { rows: 3, value: text, "aria-label": "The waiting message" });
  composer.unsaved = () => (box.value === text ? "" : box.value);
  const close = () => {
    composer.editing = composer.unsaved = null;
    replace(composer.queue);
    composer.draw();
  };
  const save = async () => {
    const typed = box.value;
    composer.unsaved = null;
    const isRefused = typed.trim() && typed !== text && !(await composer.edit(one.id, typed, one.message));
    close();
    if (isRefused) composer.put(typed);
  };
  box.onkeydown = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      save();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      close();
    }
  };
  return h("li", { class: "waiting editing", "data-key": `edit ${one.id}`, "data-queued": one.id }, box, button("Save", save, { kind: "small primary" }), button("Leave it", close, { kind: "small bare" }));
}
