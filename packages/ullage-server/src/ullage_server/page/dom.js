// Elements made by hand: text only ever becomes a text node, so nothing that a session holds can become markup.

/** An element with these properties and children. `on…` are listeners, `class`, `data-…` and `aria-…` attributes. */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in DIRECT) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

const DIRECT = { value: 1, checked: 1, disabled: 1, hidden: 1, open: 1, htmlFor: 1, selected: 1 };

function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false || child === "") continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Puts these children in the place of all there are. What has the focus keeps it, or what has its name then. */
export function replace(element, ...children) {
  const focused = document.activeElement;
  const hadFocus = element !== focused && element.contains(focused);
  const holder = document.createDocumentFragment();
  append(holder, children);
  element.replaceChildren(holder);
  if (hadFocus) counterpart(element, focused)?.focus({ preventScroll: true });
}

/** What is in an element now for a node that was in it: that node, or the one with its name. */
export const counterpart = (element, node) => [node, ...element.querySelectorAll("a[href], button, summary, [tabindex]")].find((one) => element.contains(one) && nameOf(one) === nameOf(node));

const nameOf = (node) => node.dataset.path ?? node.ariaLabel ?? node.textContent;

const HELD_MS = 10_000; // at most: whose end another window took is never told

let pressed = null; // fulfilled when the button under the pointer is up again
let release = null;
const press = ({ target }) => {
  if (!target.closest("a[href], button, summary")) return;
  pressed ??= new Promise((done) => {
    release = done;
    setTimeout(done, HELD_MS);
  });
};
const lift = () => setTimeout(() => (release?.(), (pressed = null))); // behind the click
document.addEventListener("pointerdown", press, true);
for (const end of ["pointerup", "pointercancel", "contextmenu", "dragend"]) document.addEventListener(end, lift, true);

/** Waits while a button is held down: one that is replaced under the pointer loses its click. */
export const released = async () => pressed;

/** Gives a list these lines, known by their `data-key`. One that is there stays, with its focus, and becomes the new one. */
export function keepLines(list, lines) {
  const focused = document.activeElement;
  const known = new Map([...list.children].map((line) => [line.dataset.key, line]));
  let at = list.firstElementChild;
  for (const line of lines) {
    const kept = known.get(line.dataset.key);
    known.delete(line.dataset.key);
    if (kept) become(kept, line);
    if (kept && kept === at) at = at.nextElementSibling;
    else list.insertBefore(kept ?? line, at);
  }
  for (const gone of known.values()) gone.remove();
  if (list.contains(focused)) focused.focus({ preventScroll: true }); // a line that moved has lost it
}

function become(old, fresh) {
  if (old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType === Node.TEXT_NODE && old.data !== fresh.data) old.data = fresh.data;
  for (const { name } of [...(old.attributes ?? [])]) if (name !== "tabindex" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes ?? []) {
    if (name === "style") old.style.cssText = value; // as an attribute the page's policy refuses it
    else if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const [before, after] = [[...old.childNodes], [...fresh.childNodes]];
  after.forEach((node, place) => (before[place] ? become(before[place], node) : old.append(node)));
  for (const extra of before.slice(after.length)) extra.remove();
}

/** The element of this id, which the page has. */
export const byId = (id) => document.getElementById(id);

/** A button that says what it does; `hint` is its longer name. */
export function button(label, action, { hint = "", kind = "", ...rest } = {}) {
  return h("button", { type: "button", class: `button ${kind}`, title: hint, onclick: action, ...rest }, label);
}

/** Places a box or a bar: the only way in which the page sets a style, as properties and never as text. */
export function place(element, styles) {
  for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, value);
  return element;
}

/** What a screen reader says, politely, once. */
export function announce(text) {
  const region = byId("said");
  region.textContent = "";
  requestAnimationFrame(() => {
    region.textContent = text;
  });
}
