// The question whether a tool call may run: all of the call, as the server will run it, and the answers to it. What is
// allowed is the call whose digest came with the text that is shown.

import { button, h, replace } from "./dom.js";
import { notice } from "./notices.js";

const SETTLING_MS = 600; // a second click on what opened the question, or moved it here, is no answer

export class Approval {
  /** `acts` has `questions()` and `approve(call, answer)`; the questions about the call `part` are drawn in `box`. */
  constructor(acts, part, box) {
    Object.assign(this, { acts, part, box });
    this.answer = ""; // what this page said, once the server has taken it
  }

  async fill() {
    const { box, part } = this;
    const found = await this.acts.questions();
    const mine = found?.filter((question) => question.call_id === part.call_id) ?? [];
    if (mine.length) {
      replace(box, mine.map((question) => this.draw(question)));
      box.scrollIntoView({ block: "nearest" });
    } else if (!found) replace(box, h("p", { class: "approval" }, "The call can't be shown. ", button("Try again", () => this.fill())));
    else this.over();
    return mine.length > 0;
  }

  /** Nothing is asked any more. */
  over() {
    const text = this.answer || "This call was answered already: there is nothing to decide any more.";
    replace(this.box, h("p", { class: "answered", role: "status" }, text));
  }

  /** Says what the server did not take: someone was faster, or the call is another one now. */
  async refused(problem) {
    const isAsked = await this.fill();
    const text = isAsked ? problem.message : `Another person was faster: the call ${this.part.name ?? ""} was answered before, and your answer changed nothing.`;
    if (this.box.closest("dialog")) this.box.prepend(h("p", { class: "answered bad", role: "alert" }, text));
    else notice(text, { next: isAsked ? "Read the call again." : "The conversation shows what was decided.", isPlain: !isAsked });
  }

  draw(question) {
    const { name, offer } = question;
    const whole = h("pre", { class: "call-whole", tabindex: "0", role: "region", "aria-label": `All of the call: ${name}` }, lines(question.lines));
    const hint = h("p", { class: "hint", role: "status" });
    const reason = h("input", { type: "text", placeholder: "Why not? (the model reads it)", "aria-label": `Reason for not allowing ${name}`, autocomplete: "off" });
    const give = async (answer) => {
      set({ isGiven: true });
      try {
        await this.acts.approve(question.call_id, { ...answer, digest: question.digest });
        this.answer = answer.approved ? `Allowed: ${name} runs.` : `Not allowed: the model is told so, and goes on without ${name}.`;
        await this.fill();
      } catch (problem) {
        await this.refused(problem);
      }
    };
    const yes = (label, answer, kind = "") => button(label, () => give({ approved: true, ...answer }), { kind });
    const allowing = [yes("Allow", {}, "primary")];
    if (offer) allowing.push(yes(`Always allow “${offer}” in this session`, { always: "session" }), yes("… in this project", { always: "project" }));
    allowing[2]?.setAttribute("aria-label", `Always allow “${offer}” in this project`);
    const no = h("button", { type: "submit", class: "button", disabled: true }, "Don't allow");
    const refuse = h("form", { class: "refusing", onsubmit: (event) => (event.preventDefault(), give({ approved: false, reason: reason.value.trim() })) }, no, reason);
    const all = h("section", { class: "approval", "aria-label": `Allow ${name}?` }, h("h3", {}, "Allow this call?"), whole, hint, h("div", { class: "allowing" }, allowing), refuse);
    const known = { isRead: false, isSettled: false, isGiven: false };
    const set = (news) => {
      Object.assign(known, news);
      no.disabled = !known.isSettled || known.isGiven;
      for (const each of allowing) each.disabled = no.disabled || !known.isRead;
    };
    setTimeout(() => set({ isSettled: true }), SETTLING_MS);
    untilRead(whole, (left) => {
      hint.textContent = left ? "Scroll the call to its end: then it can be allowed." : "";
      set({ isRead: !left });
    });
    return all;
  }
}

function lines(all) {
  return all.map((line, place) => [place ? "\n" : "", line.map((piece) => h("span", { class: `piece ${piece.kind}` }, piece.text))]);
}

/** Calls `told(true)` while a part of the box was not on the screen yet, `told(false)` once all was, without a gap. */
function untilRead(box, told) {
  let read = 0;
  const look = () => {
    if (!box.clientHeight) return;
    if (box.scrollTop <= read + 1) read = Math.max(read, box.scrollTop + box.clientHeight);
    const left = read < box.scrollHeight - 2;
    told(left);
    if (!left) sizes.disconnect();
  };
  const sizes = new ResizeObserver(look);
  sizes.observe(box);
  box.addEventListener("scroll", look);
  told(true);
}
