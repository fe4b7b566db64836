// An image of a message, shown once it is near the screen.

import { h } from "./dom.js";

const SHOWN = /^image\/(png|jpeg|gif|webp|bmp)$/;

/** The node of an image part; `kept(handle)` gives its bytes. */
export function picture(part, kept) {
  if (!SHOWN.test(part.mime ?? "")) return "";
  const image = h("img", { alt: "Image of this message", class: "picture", width: part.width, height: part.height });
  const seen = new IntersectionObserver(async ([one]) => {
    if (!one.isIntersecting) return;
    seen.disconnect();
    try {
      const data = await (await kept(part.source.replace(/^kept:/, ""))).arrayBuffer();
      image.src = URL.createObjectURL(new Blob([data], { type: part.mime }));
      image.onload = () => URL.revokeObjectURL(image.src);
    } catch {
      image.remove(); // its size and type still stand there
    }
  });
  seen.observe(image);
  return image;
}
