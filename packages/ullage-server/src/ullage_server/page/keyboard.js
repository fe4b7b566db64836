// Single keys, where no field has the focus. They can be switched off, for those who speak to their computer.

const SWITCH = "ullage.keys";

export const keysAreOn = () => localStorage.getItem(SWITCH) !== "off";
export const switchKeys = (on) => localStorage.setItem(SWITCH, on ? "on" : "off");

/** `does` maps a key to what it does; `escape()` is told of Esc outside of dialogs. */
export function listen(does, escape) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") {
      escape(event);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target) || !keysAreOn()) return;
    const action = does[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

const isField = (target) => target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");

/** Moves the focus, unless a person types somewhere: who types goes on typing. */
export const offerFocus = (node) => isField(document.activeElement) || node.focus({ preventScroll: true });
