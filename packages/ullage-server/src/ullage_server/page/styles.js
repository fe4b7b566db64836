// Styles that are loaded with what they are for.

import { h } from "./dom.js";

let styled = null;

/** The styles of this view, once; gives a promise. */
export function loadStyles() {
  styled ??= new Promise((resolve) => {
    document.head.append(h("link", { rel: "stylesheet", href: "assets/shown.css", onload: resolve, onerror: resolve }));
  });
  return styled;
}
