// What is allowed without asking in this session and its project, and taking it back.

import { button, h, released, replace } from "./dom.js";

export class Grants {
  /** `load()` gives the grants, `revoke(id)` takes one back. */
  constructor(node, { load, revoke }) {
    Object.assign(this, { node, load, revoke });
  }

  async show() {
    const grants = await this.load();
    await released();
    if (!grants.length) {
      replace(this.node, h("p", { class: "hint" }, "Nothing: each call that needs approval is asked about."));
      return;
    }
    replace(this.node, h("ul", { class: "grants" }, grants.map((grant) => this.line(grant))));
  }

  line(grant) {
    const words = grant.prefix.join(" ");
    const isExact = grant.prefix.at(-1) === "";
    const what = words ? (isExact ? `exactly ${words.trimEnd()}` : `${words} …`) : `every ${grant.tool} call`;
    const revoke = async () => {
      await this.revoke(grant.id);
      await this.show();
    };
    return h("li", {}, h("code", {}, what), h("small", {}, `this ${grant.scope}`), button("Revoke", revoke, { kind: "small bare", "aria-label": `Revoke: ${what} in this ${grant.scope}` }));
  }
}
