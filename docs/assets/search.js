/* Helps the site's search with error messages. The query goes to the search's worker as plain words, and what comes back is
   sorted by how much of a heading the query holds, word for word: a message is a heading, with "…" where it has a value.
   Loaded before the theme's own script, so that the theme gets what is sorted. */

const { postMessage, addEventListener } = Worker.prototype;
const sorted = new WeakSet();
const SHORT = 3; /* words of a query up to which a page is looked for rather than a message */
const SHOWN = 3; /* of the headings of a page, if they are half as like the query as the best */
let asked = [];

Worker.prototype.postMessage = function (message, ...others) {
  if (message?.type !== 2) return postMessage.call(this, message, ...others);
  asked = words(message.data.replace(/\b(?:[a-z_]+\.)+(?=[A-Z]\w)/g, "")); /* ullage.errors.BadKey */
  const isPasted = asked.length > 3;
  const data = asked.map((word) => (isPasted ? `${word}^1` : word)).join(" ");
  return postMessage.call(this, { ...message, data }, ...others);
};

Worker.prototype.addEventListener = function (...given) {
  if (!sorted.has(this)) addEventListener.call(this, "message", sort);
  sorted.add(this);
  return addEventListener.apply(this, given);
};

function words(text) {
  return text.match(/[\p{L}\p{N}_]+/gu) ?? [];
}

function pairs(list) {
  const small = list.map((word) => word.toLowerCase());
  return small.length === 1 ? small : small.slice(1).map((word, at) => `${small[at]} ${word}`);
}

/* The words of a heading in their order, apart at each value. */
function pairsOf(title) {
  const text = new DOMParser().parseFromString(title, "text/html").body.textContent;
  return text.split("…").flatMap((piece) => pairs(words(piece)));
}

function sort({ data: { type, data: found } }) {
  if (type !== 3 || !asked.length) return;
  const query = new Set(pairs(asked));
  const titles = new Map(found.items.flat().map((item) => [item, pairsOf(item.title)]));
  const likeness = (item) => {
    const title = titles.get(item);
    const same = title.filter((pair) => query.has(pair)).length;
    const isShort = asked.length <= SHORT;
    return same * Math.max(same / title.length, isShort ? 0 : same / query.size) || 0;
  };
  for (const group of found.items) {
    const like = new Map(group.map((item) => [item, likeness(item)]));
    group.sort((one, other) => like.get(other) - like.get(one) || other.score - one.score);
    const best = like.get(group[0]);
    group.forEach((item, at) => {
      const isUnlike = asked.length < 2 || (asked.length <= SHORT && best < 1 / 2);
      if (isUnlike && item.location.startsWith("messages/")) item.score /= 1e6;
      else if (best && at < SHOWN && like.get(item) >= best / 2) item.score = 1e6 * best;
    });
  }
  found.items.sort(([one], [other]) => other.score - one.score);
}
