// Saying something: the box, and above it what waits to be delivered, to be edited or taken back.

import { button, byId, h, keepLines, released } from "./dom.js";
import { counted, firstLine } from "./format.js";
import { offerFocus } from "./keyboard.js";

const KINDS = { steer: "steer", follow_up: "follow-up" };
const DRAFTS = "ullage.draft.";
const UNSENT = "ullage.unsent";

export class Composer {
  /** `send(text, kind, id, session, files)`, `edit(id, text, message)` and `withdraw(id)` give promises; `send` may be
   * called again. */
  constructor({ send, edit, withdraw }) {
    Object.assign(this, { send, edit, withdraw });
    this.box = byId("say");
    this.queue = byId("queue");
    this.session = "";
    this.outbox = new Map(); // id -> { text, kind, session, files }: not acknowledged yet; no files: those before are being read
    for (const { session, text } of JSON.parse(sessionStorage.getItem(UNSENT) ?? "[]").reverse()) prepend(session, text);
    sessionStorage.removeItem(UNSENT);
    this.attached = null; // the files of messages that are not sent yet, once there was one
    this.done = Promise.resolve(); // fulfilled when what was attached and sent so far has been taken, in this order
    this.sent = Promise.resolve(); // fulfilled when the server has answered to all that was sent so far
    this.editing = null; // the id of the waiting message in the editor
    this.unsaved = null; // gives what a person typed there and has not saved
    byId("composer").onsubmit = (event) => {
      event.preventDefault();
      this.submit("steer");
    };
    byId("follow-up").onclick = () => this.submit("follow_up");
    byId("attach").onclick = () => byId("attach-files").click();
    byId("attach-files").onchange = ({ target }) => {
      this.attach([...target.files]);
      target.value = "";
    };
    this.box.onpaste = (event) => {
      const files = [...event.clipboardData.files];
      if (!files.length) return;
      event.preventDefault();
      this.attach(files);
    };
    for (const example of document.querySelectorAll("[data-example]")) {
      example.onclick = () => {
        this.box.value = example.textContent;
        this.box.oninput();
        this.box.focus();
      };
    }
    this.box.onkeydown = (event) => this.key(event);
    this.box.oninput = () => {
      this.keep();
      this.grow();
    };
  }

  /** The box for another session: what was being written there is still there. */
  open(session) {
    this.session = session;
    this.editing = null;
    this.box.value = sessionStorage.getItem(DRAFTS + session) ?? "";
    this.attached?.draw(session);
    this.problem("");
    this.grow();
  }

  /** Files that go out with what is written, also when it is sent before they are read. */
  attach(files) {
    if (byId("attach").disabled) return;
    const { session } = this;
    this.inOrder(async () => {
      const { Attachments } = await import("./attach.js").catch(() => {
        throw new Error("the server can't be reached");
      });
      this.attached ??= new Attachments((text) => this.problem(text));
      this.attached.add(session || this.session, files, this.session);
      offerFocus(this.box);
    }, (why) => this.problem(`${files.map((file) => file.name).join(", ")} was not attached: ${why.message}. Reload the page and attach it again.`));
  }

  /** Does this after what was begun before; after a failure `otherwise`, for all that waits too. */
  inOrder(step, otherwise) {
    const done = this.done.then(step);
    this.done = done;
    done.catch((why) => {
      otherwise(why);
      if (this.done === done) this.done = Promise.resolve();
    });
  }

  /** Says beside the box why something can't be sent; empty: nothing is in the way any more. */
  problem(text) {
    byId("send-problem").textContent = text;
    byId("send-problem").hidden = !text;
  }

  /** What was written and sent while no session had a name is of this one. */
  adopt(session) {
    const text = sessionStorage.getItem(DRAFTS);
    sessionStorage.removeItem(DRAFTS);
    prepend(session, text);
    for (const one of this.outbox.values()) one.session ||= session;
    this.keepUnsent();
    this.attached?.adopt(session);
    if (!this.session) this.open(session);
  }

  /** Text put back into the box, before what stands there. */
  put(text) {
    this.box.value = this.box.value ? `${text}\n${this.box.value}` : text;
    this.keep();
    this.grow();
    offerFocus(this.box);
  }

  key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.submit(event.ctrlKey || event.metaKey || event.altKey ? "follow_up" : "steer");
  }

  submit(kind) {
    const id = `m-${crypto.randomUUID ? crypto.randomUUID() : Math.random().toString(16).slice(2)}`;
    const one = { text: this.box.value, kind, session: this.session };
    this.outbox.set(id, one);
    this.box.value = "";
    this.keep();
    this.keepUnsent();
    this.grow();
    this.draw();
    this.inOrder(() => this.post(id, one), (why) => {
      if (byId("send-problem").hidden) this.problem(`The message was not sent: ${why.message}. Send it again.`);
      this.giveBack(id, one);
    });
  }

  post(id, one) {
    one.session ||= this.session;
    one.files = this.attached?.take(one.session, this.session) ?? [];
    if (!one.text.trim() && !one.files.length) return this.leave(id);
    this.problem("");
    this.draw();
    this.sent = this.sent.then(() => this.deliver(id)); // none overtakes another
  }

  async deliver(id) {
    const one = this.outbox.get(id);
    if (!one?.files) return;
    const outcome = await this.send(one.text, one.kind, id, one.session, one.files);
    if (outcome === "refused") this.giveBack(id, one);
    else if (outcome === "sent") this.leave(id); // "later": it goes out again with the connection, under the same id
  }

  /** Puts what is not sent back into the box of its session. */
  giveBack(id, { text, session, files }) {
    if (files) this.attached?.putBack(session, files, this.session);
    if (session === this.session || !session) this.put(text);
    else prepend(session, text);
    this.leave(id);
  }

  leave(id) {
    if (!this.outbox.delete(id)) return;
    this.keepUnsent();
    this.draw();
  }

  /** Stores what is on its way: opened again, the page has it in its boxes. */
  keepUnsent() {
    store(UNSENT, JSON.stringify([...this.outbox.values()], ["session", "text"]));
  }

  /** What could not be sent goes out again: the same ids, so nothing is said twice. */
  retry() {
    for (const id of [...this.outbox.keys()]) this.deliver(id);
  }

  /** Shows what waits. */
  async show(queue) {
    await released();
    this.waiting = [...queue.values()];
    for (const one of this.waiting) this.leave(one.id);
    const isTooLate = this.editing && !queue.has(this.editing);
    const typed = isTooLate && this.unsaved?.();
    if (isTooLate) this.editing = this.unsaved = null;
    this.draw();
    if (typed) this.put(typed); // delivered while a person edited it: what was typed can still be sent
  }

  draw() {
    if (this.editing && this.queue.querySelector("textarea")) return;
    const unsent = [...this.outbox].filter(([, one]) => one.session === this.session).map(([id, one]) => h("li", { class: "waiting unsent", "data-key": `unsent ${id}`, "data-queued": id }, h("span", { class: "tag" }, "sending"), h("span", { class: "waiting-text" }, [firstLine(one.text, 140), filesOf(one.files ?? [])].filter(Boolean).join(" · "))));
    const lines = (this.waiting ?? []).map((one) => this.line(one));
    keepLines(this.queue, [...lines, ...unsent]);
    this.queue.parentElement.hidden = !lines.length && !unsent.length;
  }

  line(one) {
    const text = textOf(one.message);
    if (one.id === this.editing) return this.editor(this, one, text);
    return h(
      "li",
      { class: "waiting", "data-key": one.id, "data-queued": one.id },
      h("span", { class: "tag", title: one.kind === "steer" ? "Goes in before the next model call" : "Waits until the turn is over" }, KINDS[one.kind]),
      h("span", { class: "waiting-text" }, [firstLine(text, 140), filesOf(mediaOf(one.message))].filter(Boolean).join(" · ")),
      button("Edit", () => this.edit_(one.id), { kind: "small bare", "data-needs": "write", "aria-label": `Edit: ${firstLine(text, 40)}` }),
      button("Withdraw", () => this.withdraw(one.id), { kind: "small bare", "data-needs": "write", "aria-label": `Withdraw: ${firstLine(text, 40)}` }),
    );
  }

  async edit_(id) {
    this.editor = (await import("./editor.js")).editor;
    if (!this.waiting.some((one) => one.id === id)) return; // delivered meanwhile
    this.editing = id;
    this.draw();
    this.queue.querySelector("textarea")?.focus();
  }

  keep() {
    sessionStorage.removeItem(DRAFTS + this.session);
    prepend(this.session, this.box.value);
  }

  grow() {
    this.box.rows = Math.max(2, Math.min(12, this.box.value.slice(0, 4_000).split("\n").length));
  }
}

/** What is being written in a session begins with this text. */
function prepend(session, text) {
  const texts = [text, sessionStorage.getItem(DRAFTS + session)].filter(Boolean);
  if (texts.length) store(DRAFTS + session, texts.join("\n"));
}

/** What is too large for the browser's storage is not stored. */
function store(key, text) {
  try {
    sessionStorage.setItem(key, text);
  } catch {
    sessionStorage.removeItem(key);
  }
}

const textOf = (message) => (message.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");

/** The parts of a message that are images and files. */
export const mediaOf = (message) => (message.parts ?? []).filter((part) => part.type === "image" || part.type === "file");
const filesOf = (files) => (files.length ? counted(files.length, "file") : "");
