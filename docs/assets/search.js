/* A pasted error message is searched by its whole words, without the signs that the search takes for operators. What has fewer
   than four words is searched as it is typed, so that the beginning of a word finds it. */

const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...others) {
  if (message?.type !== 2) return post.call(this, message, ...others);
  const words = message.data.replace(/^ullage: /, "").match(/\w+/g) ?? [];
  const isPasted = words.length > 3;
  const data = words.map((word) => (isPasted ? `${word}^1` : word)).join(" ");
  return post.call(this, { ...message, data }, ...others);
};
