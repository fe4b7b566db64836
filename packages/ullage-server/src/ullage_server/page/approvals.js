// The question whether a tool call may run: all of the call, as the server will run it, and the answers to it. What is
// allowed is the call whose digest came with the text that is shown.

import { button, h, replace } from "./dom.js";

export class Approval {
  /** `acts` has `questions()` and `approve(call, answer)`; the questions about the call `part` are drawn in `box`. */
  constructor(acts, part, box) {
    Object.assign(this, { acts, part, box });
  }

  async fill() {
    const { box, part } = this;
    const found = await this.acts.questions();
    const mine = found?.filter((question) => question.call_id === part.call_id) ?? [];
    if (mine.length) {
      replace(box, mine.map((question) => this.draw(question)));
      box.scrollIntoView({ block: "nearest" });
    }
    else if (!found) replace(box, h("p", { class: "approval" }, "The call can't be shown. ", button("Try again", () => this.fill())));
    else replace(box);
  }

  draw(question) {
    const { name, offer } = question;
    const whole = h("pre", { class: "call-whole", tabindex: "0", role: "region", "aria-label": `All of the call: ${name}` }, lines(question.lines));
    const hint = h("p", { class: "hint", role: "status" });
    const reason = h("input", { type: "text", placeholder: "Why not? (the model reads it)", "aria-label": `Reason for not allowing ${name}`, autocomplete: "off" });
    const give = async (answer) => {
      for (const each of all.querySelectorAll("button")) each.disabled = true;
      await this.acts.approve(question.call_id, { ...answer, digest: question.digest });
      this.fill();
    };
    const yes = (label, answer, kind = "") => button(label, () => give({ approved: true, ...answer }), { kind });
    const allowing = [yes("Allow", {}, "primary")];
    if (offer) allowing.push(yes(`Always allow “${offer}” in this session`, { always: "session" }), yes("… in this project", { always: "project" }));
    allowing[2]?.setAttribute("aria-label", `Always allow “${offer}” in this project`);
    const refuse = h("form", { class: "refusing", onsubmit: (event) => (event.preventDefault(), give({ approved: false, reason: reason.value.trim() })) }, h("button", { type: "submit", class: "button" }, "Don't allow"), reason);
    const all = h("section", { class: "approval", "aria-label": `Allow ${name}?` }, h("h3", {}, "Allow this call?"), whole, hint, h("div", { class: "allowing" }, allowing), refuse);
    untilRead(whole, (left) => {
      for (const each of allowing) each.disabled = left;
      hint.textContent = left ? "Scroll the call to its end: then it can be allowed." : "";
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
