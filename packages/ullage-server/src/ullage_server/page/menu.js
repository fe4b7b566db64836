// What can be done with a session as a whole. Loaded when the menu is first used.

import { ask, confirm, open } from "./dialogs.js";
import { button, byId, h } from "./dom.js";
import { notice } from "./notices.js";
import { loadStyles } from "./styles.js";

/** A link that saves this as a file, as long as the page is open. */
const saving = (blob, name, label) => h("a", { href: URL.createObjectURL(blob), download: name, class: "button" }, label);

/** Each takes the page. */
export const menu = {
  async rename(page) {
    const { remote } = page;
    const before = byId("title").textContent;
    const title = await ask("Rename the session", { label: "Title", confirm: "Rename", value: before });
    if (title?.trim() && title !== before && remote === page.remote) await page.act((to) => to.rename(title));
  },

  async link(page) {
    const { copyLink } = await import("./links.js");
    await copyLink(page.following.id);
  },

  async share(page) {
    const { shareReadOnly } = await import("./links.js");
    await shareReadOnly(page.following.id, page.remote, page.tell);
  },

  async fork(page) {
    const made = await page.act((to) => to.fork());
    if (!made) return;
    await page.sessions.load().catch(() => {});
    page.go(made.id);
  },

  async export(page) {
    await page.act(async (to) => {
      const blob = await (await page.api.open(`${to.path}/export`)).blob();
      const link = saving(blob, `${page.following.id}.jsonl`, "");
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    });
  },

  async picture(page) {
    const { id } = page.following;
    await page.act(async (to) => {
      const drawn = async (format) => (await page.api.open(`${to.path}/picture?format=${format}`)).blob();
      const [svg, html] = await Promise.all([drawn("svg"), drawn("html"), loadStyles()]);
      const save = saving(svg, `${id}.svg`, "Save as SVG");
      const close = button("Close", () => byId("dialog").close(), { kind: "primary" });
      const dialog = open("Picture of the session", h("img", { src: save.href, alt: `What fills the window of ${id}` }), h("div", { class: "dialog-buttons" }, save, saving(html, `${id}.html`, "Save as HTML"), close));
      dialog.className = "pictured";
    });
  },

  async delete(page) {
    const { id } = page.following;
    if (!(await confirm("Delete the session?", `${byId("title").textContent} is removed with all that is its alone.`, "Delete"))) return;
    if (!(await page.act((to) => to.remove()))) return;
    page.clear();
    await page.sessions.load();
    page.sessions.mark("");
    notice(`Deleted ${id}.`, { isPlain: true });
  },
};
