// Files that go out with a message: listed above the box, each with a picture and a way to take it off again. They stay
// until the server has acknowledged the message. Loaded with the first one.

import { Refusal } from "./api.js";
import { announce, button, byId, h, replace } from "./dom.js";
import { bytes, counted } from "./format.js";

/** Bytes of a message's files: as base64 they are a third more, and providers accept 32 MB at most. */
export const LARGEST = 24_000_000;
const PICTURES = /^image\/(png|jpeg|gif|webp)$/;

export class Attachments {
  /** `problem(text)` says why a file can't be sent. */
  constructor(problem) {
    this.problem = problem;
    this.files = new Map(); // session -> files, in the order in which they go out
  }

  /** Adds files to the next message of a session; `shown` is the session whose box is on the screen. */
  add(session, files, shown) {
    this.problem("");
    const there = this.of(session);
    for (const file of files) {
      const size = there.reduce((sum, one) => sum + one.size, file.size);
      if (size > LARGEST) {
        this.problem(`${file.name} was not attached: a message takes ${bytes(LARGEST)} of files, and this would be ${bytes(size)}. Send a smaller file.`);
        continue;
      }
      there.push(this.begin(session, file));
    }
    this.files.set(session, there);
    this.draw(shown);
    announce(`${counted(there.length, "file")} attached`);
  }

  begin(session, file) {
    const name = file.name || "pasted";
    const picture = PICTURES.test(file.type) ? URL.createObjectURL(file) : "";
    const one = { name, size: file.size, kind: KINDS[file.type] ?? "File", picture };
    one.data = base64(file).catch((why) => {
      one.isUnreadable = true;
      this.drop(session, one);
      const problem = new Refusal(0, { detail: `${name} was not attached: ${why.message}` });
      this.problem(problem.message);
      throw problem;
    });
    one.data.catch(() => {}); // a message that is sent with it hears of it too
    return one;
  }

  of(session) {
    return this.files.get(session) ?? [];
  }

  drop(session, one) {
    this.files.set(session, this.of(session).filter((other) => other !== one));
    if (one.picture) URL.revokeObjectURL(one.picture);
    this.draw(this.shown);
  }

  /** What goes out with the message that is sent now. */
  take(session, shown) {
    const files = this.of(session);
    this.files.delete(session);
    this.draw(shown);
    return files;
  }

  /** The files of a message that was refused. */
  putBack(session, files, shown) {
    this.files.set(session, [...files.filter((one) => !one.isUnreadable), ...this.of(session)]);
    this.draw(shown);
  }

  /** What was attached while no session had a name is of this one. */
  adopt(session) {
    if (!session) return;
    const files = [...this.of(""), ...this.of(session)];
    this.files.delete("");
    this.files.set(session, files);
    this.draw(session);
  }

  draw(session) {
    this.shown = session;
    const files = this.of(session);
    const list = byId("attached");
    list.hidden = !files.length;
    replace(list, files.map((one, at) => this.line(session, one, at)));
  }

  line(session, one, at) {
    const remove = () => {
      this.drop(session, one);
      announce(`${one.name} removed`);
      const next = byId("attached").querySelectorAll("button")[Math.min(at, this.of(session).length - 1)];
      (next ?? byId("say")).focus();
    };
    return h(
      "li",
      { class: "attachment" },
      one.picture ? h("img", { src: one.picture, alt: "", class: "thumbnail" }) : h("span", { class: "thumbnail kind", "aria-hidden": "true" }, one.kind),
      h("span", { class: "attachment-name", title: one.name }, one.name, h("small", {}, bytes(one.size))),
      button("×", remove, { kind: "small bare", "aria-label": `Remove ${one.name}`, hint: "Remove" }),
    );
  }
}

const KINDS = { "application/pdf": "PDF", "text/plain": "Text", "text/markdown": "Text", "text/csv": "CSV", "application/json": "JSON" };
const TOLD = [
  [0, [0x89, 0x50, 0x4e, 0x47]], // PNG
  [0, [0xff, 0xd8]], // JPEG
  [0, [0x47, 0x49, 0x46, 0x38]], // GIF
  [8, [0x57, 0x45, 0x42, 0x50]], // WebP
  [0, [0x25, 0x50, 0x44, 0x46, 0x2d]], // PDF
];

/** The file as base64. Raises for one that is empty, can't be read, or is of no type that a model reads. */
async function base64(file) {
  const data = new Uint8Array(await file.arrayBuffer().catch(() => {
    throw new Error("it can't be read. Choose it again.");
  }));
  if (!data.length) throw new Error("it is empty.");
  if (!TOLD.some(([from, signs]) => signs.every((sign, at) => data[from + at] === sign)) && !isText(data)) {
    throw new Error("only images (PNG, JPEG, GIF, WebP), PDFs and text files can be sent.");
  }
  return encoded(new Blob([data]));
}

function isText(data) {
  try {
    return !new TextDecoder("utf-8", { fatal: true }).decode(data).includes("\0");
  } catch {
    return false;
  }
}

function encoded(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Error("it can't be read. Choose it again."));
    reader.readAsDataURL(blob);
  });
}

/** Files as the server takes them. */
export async function written(files) {
  const sent = [];
  for (const { name, data } of files) sent.push({ name, data: await data });
  return sent;
}

/** The images and files of a message that is stored, to be sent again; `kept(handle)` gives the bytes. */
export async function sentAgain(media, kept) {
  const sent = [];
  for (const part of media) {
    const blob = part.source ? await kept(part.source.replace(/^kept:/, "")) : new Blob([part.text ?? ""]);
    sent.push({ name: part.name ?? "", data: await encoded(blob) });
  }
  return sent;
}
