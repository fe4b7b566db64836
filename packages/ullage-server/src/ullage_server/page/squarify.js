// Rectangles whose areas are as their sizes, as near to squares as they get (Bruls, Huizing and van Wijk, 2000).

/** A box `{x, y, width, height}` for each of the sizes, which fall; together they fill the space. */
export function squarified(sizes, space) {
  const left = { ...space };
  let rest = sizes.reduce((sum, size) => sum + size, 0);
  const boxes = [];
  let at = 0;
  while (at < sizes.length && rest > 0) {
    const scale = (left.width * left.height) / rest;
    const count = rowLength(sizes, at, scale, Math.min(left.width, left.height));
    const row = sizes.slice(at, at + count);
    boxes.push(...takeRow(row, scale, left));
    rest -= row.reduce((sum, size) => sum + size, 0);
    at += count;
  }
  while (boxes.length < sizes.length) boxes.push({ x: left.x, y: left.y, width: 0, height: 0 });
  return boxes;
}

// How many sizes the next row takes: as long as its worst box gets no longer and thinner.
function rowLength(sizes, from, scale, side) {
  let sum = 0;
  let best = Infinity;
  let count = 0;
  for (let at = from; at < sizes.length; at += 1) {
    sum += sizes[at] * scale;
    const depth = sum / side;
    const widest = (sizes[from] * scale) / depth / depth;
    const thinnest = (depth * depth) / (sizes[at] * scale);
    const worst = Math.max(widest, thinnest);
    if (worst > best) break;
    best = worst;
    count += 1;
  }
  return Math.max(1, count);
}

// Lays the row along the shorter side and takes its place out of what is left.
function takeRow(row, scale, left) {
  const isTall = left.height <= left.width;
  const area = scale * row.reduce((sum, size) => sum + size, 0);
  const depth = area / (isTall ? left.height : left.width) || 0;
  let along = isTall ? left.y : left.x;
  const boxes = row.map((size) => {
    const length = depth ? (size * scale) / depth : 0;
    const box = isTall ? { x: left.x, y: along, width: depth, height: length } : { x: along, y: left.y, width: length, height: depth };
    along += length;
    return box;
  });
  if (isTall) {
    left.x += depth;
    left.width = Math.max(0, left.width - depth);
  } else {
    left.y += depth;
    left.height = Math.max(0, left.height - depth);
  }
  return boxes;
}
