// The page: which session is shown, what a person asks for, and what the server says to it.

import { Access } from "./access.js";
import { Api, Refusal, Unreachable } from "./api.js";
import { Composer, mediaOf } from "./composer.js";
import { Conversation } from "./conversation.js";
import { announce, byId, released, replace } from "./dom.js";
import { Following } from "./follow.js";
import { besideNumber, firstLine, number, restored, share } from "./format.js";
import { keysAreOn, listen, switchKeys } from "./keyboard.js";
import { Ledger } from "./ledger.js";
import { takeFiles } from "./look.js";
import { notice } from "./notices.js";
import { compactForm, Panel } from "./panel.js";
import { SessionList } from "./sessions.js";
import { LABELS, NEEDS } from "./standing.js";
import { setUpTheme } from "./theme.js";

const CONNECTIONS = { none: "", connecting: "connecting …", live: "live", waiting: "connection lost, trying again", gone: "session is gone" };
const ACTIVITIES = { idle: "", streaming: "answering …", executing_tools: "tools run …", compacting: "compacting …", waiting: "waits", interrupted: "interrupted" };

const WORKING = new Set(["streaming", "executing_tools", "compacting"]);

const dialogs = () => import("./dialogs.js");
const shared = () => import("./shared.js");

/** Changes of a session after which the advice is another one. */
const MOVING = new Set(["called", "compactions", "ended"]);

class Page {
  constructor() {
    this.api = new Api(async (wasWrong) => (await dialogs()).askForToken(wasWrong));
    this.access = new Access(this.api);
    this.following = null;
    this.looked = null;
    this.live = null; // the running sessions of all programs, where the server shows them
    this.acts = this.actions();
    this.ledger = new Ledger((what, key) => this.changed(what, key));
    this.panel = new Panel({ items: () => this.items(), reveal: (item) => this.reveal(item), acts: this.acts });
    this.conversation = new Conversation(this.ledger, this.acts, () => this.following?.earlier() ?? Promise.resolve([]));
    this.composer = new Composer({
      send: (text, kind, id, session, files) => this.send(text, kind, id, session, files),
      edit: (id, text, message) => this.act((to) => this.edit(to, id, text, message)),
      withdraw: (id) => this.act((to) => to.withdraw(id)),
    });
    this.sessions = new SessionList(this.api, { choose: (id, hit) => this.go(id, hit), review: (id) => this.review(id), counted: () => this.showActivity(this.ledger.activity) });
    this.hit = null; // what a search found in the session that is being opened
    this.settings = null;
    this.grants = null;
    this.tell = tell;
  }

  async showSettings() {
    const { remote } = this;
    if (!remote || !byId("settings-fold").open) return;
    const { Settings } = await import("./settings.js");
    if (this.settings?.remote !== remote) this.settings = new Settings(byId("settings"), remote, (request) => this.act(request));
    await this.settings.show();
  }

  async showGrants() {
    if (!this.remote || !byId("grants-fold").open) return;
    const { Grants } = await import("./grants.js");
    this.grants ??= new Grants(byId("grants"), { load: () => this.remote.grants(), revoke: (id) => this.act((to) => to.revoke(id)) });
    await this.grants.show();
  }

  async showAdvice() {
    const { remote } = this;
    if (!remote || !byId("advice-fold").open) return;
    const [{ drawAdvice }, advice] = await Promise.all([import("./advice.js"), remote.advice()]);
    if (this.remote === remote) drawAdvice(byId("advice"), advice, (item) => this.revealRow(item));
  }

  async showTools() {
    if (!this.remote || !byId("tools-fold").open) return;
    const { drawToolRuns } = await import("./toolruns.js");
    await released();
    drawToolRuns(byId("tools"), this.ledger, (item) => this.reveal(item));
  }

  async showDroppable() {
    const { remote } = this;
    if (!remote || !byId("drop-fold").open) return;
    const { showDroppable } = await import("./drop.js");
    await showDroppable(this, byId("droppable"));
  }

  get remote() {
    return this.following?.remote;
  }

  start() {
    replace(byId("compact-form"), compactForm(this.acts));
    byId("new").onclick = () => this.begin();
    byId("cancel").onclick = () => this.cancel();
    for (const name of ["rename", "link", "share", "fork", "picture", "export", "delete"]) byId(name).onclick = () => this.menu(name);
    byId("help").onclick = () => this.help();
    byId("brief").onclick = () => this.tab("window");
    byId("advice-fold").ontoggle = () => this.showAdvice().catch(tell);
    byId("settings-fold").ontoggle = () => this.showSettings().catch(tell);
    byId("tools-fold").ontoggle = () => this.showTools().catch(tell);
    byId("grants-fold").ontoggle = () => this.showGrants().catch(tell);
    byId("drop-fold").ontoggle = () => this.showDroppable().catch(tell);
    for (const button of byId("tabs").children) button.onclick = () => this.tab(button.dataset.tab);
    this.theme = setUpTheme(byId("theme"));
    this.tab("conversation");
    takeFiles((file) => this.look(file), (files) => this.composer.attach(files));
    listen(this.keys(), (event) => this.escape(event));
    window.addEventListener("hashchange", () => (/^#link=|&token=/.test(location.hash) ? this.arrive() : this.route().catch(tell)));
    window.addEventListener("storage", () => this.stopAsking()); // another tab opened a link
    this.arrive();
  }

  async arrive() {
    await this.redeem();
    try {
      await this.access.load();
      if (this.access.session) {
        await (await shared()).readAlong(this);
        return;
      }
      if (this.access.live) (await this.lives()).list.follow();
      const sessions = await this.sessions.load();
      this.sessions.follow();
      await this.route(sessions[0]?.id);
    } catch (problem) {
      if (problem.status === 401) return this.gone();
      tell(problem);
      setTimeout(() => this.following ?? this.arrive(), 3_000);
    }
  }

  /** Takes a one-time link, or the token of a read-only one, out of the address. */
  async redeem() {
    const [, word, session, token] = /^#(?:link=(.+)|(session=.+)&token=(.+))$/.exec(location.hash) ?? [];
    if (token) {
      history.replaceState(null, "", `#${session}`);
      this.api.take(token);
    }
    if (!word) return;
    history.replaceState(null, "", location.pathname);
    await this.api.redeem(word);
    this.stopAsking();
  }

  stopAsking() {
    if (this.api.asked) byId("dialog").close();
  }

  keys() {
    return {
      "/": () => this.focus("conversation", "say"),
      "?": () => this.help(),
      j: () => this.conversation.step(1),
      k: () => this.conversation.step(-1),
      "[": () => this.sessions.step(-1),
      "]": () => this.sessions.step(1),
      n: () => this.begin(),
      s: () => this.focus("sessions", "search"),
      w: () => this.focus("window", "window"),
      c: () => this.focus("window", "compact-instructions"),
      a: () => this.review(),
      t: () => this.theme(),
      1: () => this.focus("sessions", "search"),
      2: () => this.focus("conversation", "conversation"),
      3: () => this.focus("window", "window"),
    };
  }

  escape(event) {
    if (byId("menu").open) byId("menu").open = false;
    else if (!byId("cancel").hidden) this.cancel();
    else if (event.target.closest("input, textarea")) event.target.blur();
  }

  // -- which session --

  go(id, hit) {
    this.tab("conversation");
    this.hit = hit && { ...hit, id };
    this.showHit().catch(tell);
    const address = `#session=${encodeURIComponent(id)}`;
    if (location.hash === address) this.follow(id);
    else location.hash = address;
  }

  /** Once the session is loaded. */
  async showHit() {
    const { hit, following } = this;
    if (!hit || following?.id !== hit.id || !following.isCaughtUp) return;
    this.hit = null;
    const { showHit } = await import("./search.js");
    await showHit(this.conversation, hit);
  }

  /** Shows what the address names, or else `other`. */
  async route(other = "") {
    const [, kind, name] = /^#(session|live)=(.+)$/.exec(location.hash) ?? ["", "session", encodeURIComponent(other)];
    const id = this.access.session || decodeURIComponent(name);
    if (kind === "live") await (await this.lives()).follow(id);
    else await this.follow(id);
  }

  async lives() {
    const { Lives } = await import("./live.js");
    this.live ??= new Lives(this);
    return this.live;
  }

  async follow(id) {
    if (!id) return;
    this.closeLook();
    if (this.following?.id === id && !this.following.signal.aborted) return;
    this.leave();
    const following = new Following(this.api, id, {
      ledger: this.ledger,
      conversation: this.conversation,
      panel: this.panel,
      composer: this.composer,
      onState: (connection) => this.connection(connection),
      onGone: () => this.gone(),
      onReset: () => this.beginAgain(id),
    });
    this.following = following;
    this.connection("connecting");
    this.sessions.mark(id);
    this.composer.open(id);
    byId("menu").hidden = false;
    byId("settings-fold").hidden = false;
    for (const name of ["advice", "settings", "grants", "tools", "drop"]) byId(`${name}-fold`).open = false;
    replace(byId("settings"));
    byId("title").textContent = id;
    byId("subtitle").textContent = "";
    await this.openUntilItAnswers(following);
  }

  /** The stream has ended for good. */
  async gone() {
    if (this.api.isShared) (await shared()).endOfLink();
    else notice("This session was deleted.", { isPlain: true });
  }

  /** The database lost events that the page shows: all is read again. */
  async beginAgain(id) {
    this.leave();
    await this.follow(id);
  }

  async openUntilItAnswers(following) {
    try {
      await following.open();
    } catch (problem) {
      if (following.signal.aborted) return;
      if (!(problem instanceof Unreachable)) {
        this.connection("gone");
        tell(problem);
        return;
      }
      this.connection("waiting");
      setTimeout(() => following.signal.aborted || this.openUntilItAnswers(following), 1_000);
    }
  }

  leave() {
    this.following?.close();
    this.following = null;
    this.live?.leave();
    this.ledger.clear();
    this.panel.clear();
    this.panel.undoable([]);
    this.panel.ordered(null);
    this.conversation.redraw();
    this.composer.show(this.ledger.queue);
    for (const name of ["cancel", "brief"]) byId(name).hidden = true;
    this.showActivity("idle");
  }

  async begin() {
    const reason = this.access.lacks("write");
    if (reason) {
      notice(reason);
      return null;
    }
    this.beginning ??= this.beginOnce().finally(() => {
      this.beginning = null;
    });
    this.focus("conversation", "say");
    return this.beginning;
  }

  // What is typed until the server has answered belongs to the new session.
  async beginOnce() {
    const before = this.composer.session;
    this.composer.open("");
    const id = await this.beginSession();
    this.composer.adopt(id ?? before);
    if (!id) return null;
    await this.sessions.load().catch(() => {});
    this.go(id);
    return id;
  }

  async beginSession(settings = {}) {
    try {
      return (await this.api.begin(settings)).id;
    } catch (problem) {
      if (settings.model || !(problem instanceof Refusal && problem.status === 422)) {
        tell(problem);
        return null;
      }
      const model = await (await dialogs()).askForModel(problem.message);
      return model ? this.beginSession({ model }) : null;
    }
  }

  // -- what changes --

  changed(what, key) {
    this.following?.changed(what, key);
    if (what === "state" || what === "queue") this.standing();
    if (what === "state") this.showHit().catch(tell);
    if (what === "reading") this.brief();
    if (what === "reading" && this.following?.isCaughtUp) this.sessions.full(this.following.id, this.ledger.near);
    if (MOVING.has(what)) for (const shown of [this.showAdvice(), this.showDroppable()]) shown.catch(() => {}); // the stream shows the connection; the next event asks again
    if (what === "tools" || what === "ended") this.showTools().catch(tell);
    if (what === "grants") this.showGrants().catch(tell);
    if (["ended", "title", "interrupted"].includes(what)) this.sessions.soon();
  }

  standing() {
    const { ledger, following } = this;
    if (!following) return;
    this.showActivity(ledger.activity);
    byId("cancel").hidden = !(ledger.turn || ledger.compacting) || !following.isCaughtUp;
    const title = ledger.title || this.firstSaid() || following.id;
    byId("title").textContent = title;
    byId("subtitle").textContent = [ledger.model, following.id].filter(Boolean).join(" · ");
    this.sessions.titled(following.id, title);
    const asked = [...ledger.tools.values()].filter((tool) => tool.state === "asked").length;
    const stands = `${following.id} ${WORKING.has(ledger.activity) || ledger.activity} ${asked}`;
    if (following.isCaughtUp && stands !== this.stood) this.sessions.soon(); // its line says so at once
    this.stood = stands;
  }

  /** What the session does: while it works, the events tell it first; else the server's word for it, as in the list. */
  showActivity(activity) {
    const state = WORKING.has(activity) ? "" : (this.sessions.of(this.following?.id)?.standing.state ?? "");
    const isTold = state === "waits" || NEEDS.includes(state);
    byId("activity").textContent = isTold ? LABELS[state] : (ACTIVITIES[activity] ?? "");
    byId("activity").dataset.state = isTold ? state : activity;
    document.title = [this.sessions.count && `(${this.sessions.count})`, WORKING.has(activity) && ACTIVITIES[activity], "Ullage"].filter(Boolean).join(" ");
  }

  firstSaid() {
    for (const item of this.ledger.items.values()) {
      if (item.kind !== "message" || item.message.role !== "user") continue;
      const text = item.message.parts?.find((part) => part.type === "text")?.text;
      if (text) return firstLine(text, 80);
    }
    return "";
  }

  brief() {
    const { used, window } = this.ledger.near;
    this.briefly(used, window);
  }

  briefly(used, window) {
    byId("brief").hidden = false;
    byId("brief").textContent = `${number(used.tokens)} ${besideNumber(used)}${window ? ` of ${number(window)} · ${share(used.tokens, window)}` : " · window unknown"}`;
  }

  connection(connection) {
    const node = byId("connection");
    if (node.dataset.state === connection) return;
    node.dataset.state = connection;
    node.textContent = CONNECTIONS[connection];
  }

  // -- what a person asks for --

  /** Asks for something of the shown session; gives the answer, `null` when it was refused. */
  async act(request) {
    if (!this.remote) return null;
    try {
      return (await request(this.remote)) ?? true;
    } catch (problem) {
      tell(problem);
      return null;
    }
  }

  actions() {
    return {
      resume: () => this.act((to) => to.resume()),
      compact: (instructions) => this.compact(instructions),
      preview: async (instructions) => this.remote && (await import("./preview.js")).preview(this, instructions),
      summarise: (message, side) => this.summarise(message, side),
      uncompact: async (compaction) => {
        const done = await this.act((to) => to.uncompact(compaction));
        if (done) announce(["Undone", ...restored(done)].join(", "));
      },
      questions: () => this.act((to) => to.questions()),
      approve: (call, answer) => this.remote.approve(call, answer),
      nameOf: (who) => (who && who !== this.access.name ? who : this.access.session ? "A person" : "You"),
      pin: (message, pinned) => this.act((to) => to.pin(message, pinned)),
      explain: (message) => this.act(async (to) => (await dialogs()).showWhere(await to.explain(message))),
      rewrite: (text) => this.composer.put(text),
      rewind: async (message) => (await import("./rewind.js")).rewind(this, message),
      picture: async (part) => (await import("./picture.js")).picture(part, this.remote.kept),
    };
  }

  /** Asks for a compaction; a refusal is shown where it was asked for. */
  async compact(instructions) {
    try {
      await this.remote.compact(instructions);
      return true;
    } catch (problem) {
      if (isTold(problem)) this.ledger.order({ state: "failed", why: problem.message });
      else tell(problem);
      return false;
    }
  }

  /** Asks for a summary up to a message or from it on; a refusal is shown at that message. */
  async summarise(message, side) {
    try {
      await this.remote.summarise(message, side);
    } catch (problem) {
      if (isTold(problem)) this.ledger.refuse(message, side, problem.message);
      else tell(problem);
    }
  }

  /** "sent", "refused", or "later": the message goes out again when the server is reached. */
  async send(text, kind, id, session, files) {
    const to = session || (await this.begin());
    if (!to) return "refused";
    try {
      const { written } = files.length ? await import("./attach.js") : { written: () => undefined };
      await this.api.of(to).send(text, kind, id, await written(files));
      this.conversation.toEnd();
      return "sent";
    } catch (problem) {
      if (problem instanceof Unreachable) return "later";
      if (problem instanceof Refusal) this.composer.problem([problem.message, problem.next].filter(Boolean).join(" "));
      else tell(problem);
      return "refused";
    }
  }

  /** A waiting message with another text keeps its images and files. */
  async edit(to, id, text, message) {
    const media = mediaOf(message);
    if (!media.length) return to.edit(id, text);
    const { sentAgain } = await import("./attach.js");
    return to.edit(id, text, await sentAgain(media, to.kept));
  }

  async cancel() {
    const done = await this.act((to) => to.cancel());
    if (done?.cancelled) announce("Cancelled");
  }

  /** What the menu of the session offers. */
  async menu(name) {
    byId("menu").open = false;
    const { menu } = await import("./menu.js");
    await menu[name](this);
  }

  /** Shows the calls that need approval, those of a session first. */
  async review(session = "") {
    const { Review } = await import("./review.js");
    this.reviewing ??= new Review({ sessions: this.sessions, api: this.api, show: (id) => this.go(id) });
    await this.reviewing.begin(session);
  }

  async help() {
    (await dialogs()).showHelp(keysAreOn(), switchKeys);
  }

  /** No session is shown any more. */
  clear() {
    this.leave();
    history.replaceState(null, "", location.pathname);
    byId("title").textContent = "No session";
    byId("subtitle").textContent = "";
    byId("menu").hidden = true;
    byId("settings-fold").hidden = true;
    this.connection("none");
  }

  // -- looking --

  async look(file) {
    (await import("./looked.js")).look(this, file, tell);
  }

  looker() {
    return { close: () => this.closeLook(true), reveal: (item) => this.revealRow(item) };
  }

  arrangeLook(isLooking) {
    document.body.classList.toggle("looking", isLooking);
    byId("looked").hidden = !isLooking;
    byId("messages").hidden = isLooking;
    byId("composer").hidden = isLooking;
    byId("menu").hidden = isLooking;
    if (isLooking) byId("nothing").hidden = true;
  }

  closeLook(goesBack = false) {
    this.live?.leave();
    if (!this.looked) return;
    this.looked = null;
    this.arrangeLook(false);
    this.panel.clear();
    this.conversation.redraw();
    if (!goesBack) return;
    const last = fromAddress() || this.sessions.sessions[0]?.id;
    if (last) this.go(last);
    else byId("title").textContent = "No session";
  }

  async items() {
    return this.looked ? this.looked.largest : this.following.items();
  }

  /** Opens the row of the breakdown in which an item stands. */
  async revealRow(item) {
    this.tab("window");
    const { revealRow } = await import("./reveal.js");
    await revealRow(this.panel.rows, item);
  }

  async reveal(item) {
    this.tab("conversation");
    if (this.looked) {
      byId("looked").querySelector(`[data-item="${CSS.escape(item.part)}"]`)?.scrollIntoView({ block: "center" });
      return;
    }
    const { revealMessage } = await import("./reveal.js");
    const found = await revealMessage(this.conversation, item.message, item.part, item.tokens);
    if (found && item.position) announce(`Message ${item.position}: ${number(item.tokens)} tokens`);
    else if (!found) notice("This message is not in the conversation that is shown.", { isPlain: true });
  }

  // -- columns --

  tab(name) {
    document.body.dataset.tab = name;
    for (const button of byId("tabs").children) button.setAttribute("aria-pressed", String(button.dataset.tab === name));
  }

  focus(tab, id) {
    this.tab(tab);
    byId(id).focus();
  }
}

function fromAddress() {
  const found = /^#session=(.+)$/.exec(location.hash);
  return found ? decodeURIComponent(found[1]) : "";
}

const isTold = (problem) => problem instanceof Refusal || problem instanceof Unreachable;

function tell(problem) {
  if (problem.name === "AbortError") return null;
  if (isTold(problem)) return notice(problem.message, { next: problem.next });
  console.error(problem);
  return notice(`The page made a mistake: ${problem.message}`, { next: "Reload the page, and please report it." });
}

new Page().start();
