// Saying something: the box, and above it what waits to be delivered, to be edited or taken back.

import { button, byId, h, replace } from "./dom.js";
import { counted, firstLine } from "./format.js";

const KINDS = { steer: "steer", follow_up: "follow-up" };
const DRAFTS = "ullage.draft.";

export class Composer {
  /** `send(text, kind, id, session, files)`, `edit(id, text, message)` and `withdraw(id)` give promises; `send` may be
   * called again. */
  constructor({ send, edit, withdraw }) {
    Object.assign(this, { send, edit, withdraw });
    this.box = byId("say");
    this.queue = byId("queue");
    this.session = "";
    this.outbox = new Map(); // id -> { text, kind, session, files }: not acknowledged yet
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
      const { Attachments } = await import("./attach.js");
      this.attached ??= new Attachments((text) => this.problem(text));
      this.attached.add(session || this.session, files, this.session);
      this.box.focus();
    }, () => this.problem(`${files.map((file) => file.name).join(", ")} was not attached: the server can't be reached. Reload the page and attach it again.`));
  }

  /** Does this after what was begun before; after a failure `otherwise` is done, and also in place of all that waits. */
  inOrder(step, otherwise) {
    const done = this.done.then(step);
    this.done = done;
    done.catch(() => {
      otherwise();
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
    const texts = [sessionStorage.getItem(DRAFTS), sessionStorage.getItem(DRAFTS + session)].filter(Boolean);
    sessionStorage.removeItem(DRAFTS);
    if (texts.length) sessionStorage.setItem(DRAFTS + session, texts.join("\n"));
    for (const one of this.outbox.values()) one.session ||= session;
    this.attached?.adopt(session);
    if (!this.session) this.open(session);
  }

  /** Text put back into the box, before what stands there. */
  put(text) {
    this.box.value = this.box.value ? `${text}\n${this.box.value}` : text;
    this.keep();
    this.grow();
    this.box.focus();
  }

  key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.submit(event.ctrlKey || event.metaKey || event.altKey ? "follow_up" : "steer");
  }

  submit(kind) {
    const { session } = this;
    const text = this.box.value;
    this.box.value = "";
    this.keep();
    this.grow();
    this.inOrder(() => this.post(text, kind, session || this.session), () => this.giveBack(text, session));
  }

  post(text, kind, session) {
    const files = this.attached?.take(session, this.session) ?? [];
    if (!text.trim() && !files.length) return;
    this.problem("");
    const id = `m-${crypto.randomUUID ? crypto.randomUUID() : Math.random().toString(16).slice(2)}`;
    this.outbox.set(id, { text, kind, session, files });
    this.draw();
    this.sent = this.sent.then(() => this.deliver(id)); // none overtakes another
  }

  async deliver(id) {
    if (!this.outbox.has(id)) return;
    const { text, kind, session, files } = this.outbox.get(id);
    const outcome = await this.send(text, kind, id, session, files);
    if (outcome === "later") return; // it goes out again with the connection, under the same id
    this.outbox.delete(id);
    if (outcome === "refused") this.takeBack(text, files, session);
    this.draw();
  }

  /** What the server refused: it belongs to its session, which may not be shown any more. */
  takeBack(text, files, session) {
    this.attached?.putBack(session, files, this.session);
    this.giveBack(text, session);
  }

  giveBack(text, session) {
    if (session === this.session || !session) this.put(text);
    else sessionStorage.setItem(DRAFTS + session, [text, sessionStorage.getItem(DRAFTS + session)].filter(Boolean).join("\n"));
  }

  /** What could not be sent goes out again: the same ids, so nothing is said twice. */
  retry() {
    for (const id of [...this.outbox.keys()]) this.deliver(id);
  }

  /** Shows what waits. */
  show(queue) {
    this.waiting = [...queue.values()];
    for (const one of this.waiting) this.outbox.delete(one.id);
    if (this.editing && !queue.has(this.editing)) this.editedTooLate();
    this.draw();
  }

  /** The message was delivered while a person edited it: what was typed can still be sent. */
  editedTooLate() {
    const typed = this.unsaved?.();
    this.editing = null;
    this.unsaved = null;
    if (typed) this.put(typed);
  }

  draw() {
    if (this.editing && this.queue.querySelector("textarea")) return;
    const unsent = [...this.outbox].filter(([, one]) => one.session === this.session).map(([id, one]) => h("li", { class: "waiting unsent", "data-queued": id }, h("span", { class: "tag" }, "sending"), h("span", { class: "waiting-text" }, [firstLine(one.text, 140), filesOf(one.files)].filter(Boolean).join(" · "))));
    const lines = (this.waiting ?? []).map((one) => this.line(one));
    replace(this.queue, [...lines, ...unsent]);
    this.queue.parentElement.hidden = !lines.length && !unsent.length;
  }

  line(one) {
    const text = textOf(one.message);
    if (one.id === this.editing) return this.editor(one, text);
    return h(
      "li",
      { class: "waiting", "data-queued": one.id },
      h("span", { class: "tag", title: one.kind === "steer" ? "Goes in before the next model call" : "Waits until the turn is over" }, KINDS[one.kind]),
      h("span", { class: "waiting-text" }, [firstLine(text, 140), filesOf(mediaOf(one.message))].filter(Boolean).join(" · ")),
      button("Edit", () => this.edit_(one.id), { kind: "small bare", "data-needs": "write", "aria-label": `Edit: ${firstLine(text, 40)}` }),
      button("Withdraw", () => this.withdraw(one.id), { kind: "small bare", "data-needs": "write", "aria-label": `Withdraw: ${firstLine(text, 40)}` }),
    );
  }

  edit_(id) {
    this.editing = id;
    this.draw();
    this.queue.querySelector("textarea")?.focus();
  }

  editor(one, text) {
    const box = h("textarea", { rows: 3, value: text, "aria-label": "The waiting message" });
    this.unsaved = () => (box.value === text ? "" : box.value);
    const close = () => {
      this.editing = null;
      this.unsaved = null;
      replace(this.queue);
      this.draw();
    };
    const save = async () => {
      const typed = box.value;
      this.unsaved = null;
      if (typed.trim() && typed !== text && !(await this.edit(one.id, typed, one.message))) this.put(typed);
      close();
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
    return h("li", { class: "waiting editing", "data-queued": one.id }, box, button("Save", save, { kind: "small primary" }), button("Leave it", close, { kind: "small bare" }));
  }

  keep() {
    if (this.box.value) sessionStorage.setItem(DRAFTS + this.session, this.box.value);
    else sessionStorage.removeItem(DRAFTS + this.session);
  }

  grow() {
    this.box.rows = Math.max(2, Math.min(12, this.box.value.slice(0, 4_000).split("\n").length));
  }
}

const textOf = (message) => (message.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");

/** The parts of a message that are images and files. */
export const mediaOf = (message) => (message.parts ?? []).filter((part) => part.type === "image" || part.type === "file");
const filesOf = (files) => (files.length ? counted(files.length, "file") : "");
