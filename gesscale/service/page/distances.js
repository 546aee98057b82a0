// Places nodes on a plane so that distances represent delays.

const ROUNDS = 120;

const kept = new Map();

// Starts on a circle, then applies stress majorization: each round moves a node to the mean of the positions that the others imply.
export function placesOf(names, rtt_ms) {
  const before = kept.get(names.join("\n"));
  const known = rtt_ms.flat().filter((value) => value !== null && value > 0);
  const top = Math.max(1, ...known);
  // Square roots, as delays span more than a page can show.
  const wanted = (a, b) => Math.sqrt(Math.max(0.015, (rtt_ms[a]?.[b] ?? top) / top));
  let places = before ?? names.map((_, index) => [Math.cos((2 * Math.PI * index) / names.length), Math.sin((2 * Math.PI * index) / names.length)]);
  for (let round = 0; round < (before ? 20 : ROUNDS); round += 1) {
    places = places.map(([x, y], a) => {
      let [sumX, sumY, weights] = [0, 0, 0];
      places.forEach(([otherX, otherY], b) => {
        if (a === b) return;
        const far = wanted(a, b);
        const [dx, dy] = [x - otherX, y - otherY];
        const now = Math.hypot(dx, dy) || 1e-6;
        const weight = 1 / (far * far);
        sumX += weight * (otherX + (far * dx) / now);
        sumY += weight * (otherY + (far * dy) / now);
        weights += weight;
      });
      return weights ? [sumX / weights, sumY / weights] : [x, y];
    });
  }
  kept.clear();
  kept.set(names.join("\n"), places);
  return places;
}

// Rotates the nodes so that they spread horizontally.
function turned(places) {
  const middle = (at) => places.reduce((sum, place) => sum + place[at], 0) / places.length;
  const [midX, midY] = [middle(0), middle(1)];
  const product = (a, b) => places.reduce((sum, [x, y]) => sum + [x - midX, y - midY][a] * [x - midX, y - midY][b], 0);
  const angle = 0.5 * Math.atan2(2 * product(0, 1), product(0, 0) - product(1, 1));
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return places.map(([x, y]) => [cos * x + sin * y, cos * y - sin * x]);
}

// Fits the nodes into a box with room for labels, then separates overlapping ones.
export function fitted(unturned, width, height, apart) {
  const places = turned(unturned);
  const [xs, ys] = [places.map((place) => place[0]), places.map((place) => place[1])];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((width - 100) / Math.max(right - left, 1e-6), (height - 76) / Math.max(high - low, 1e-6));
  const spot = places.map(([x, y]) => [width / 2 + scale * (x - (left + right) / 2), height / 2 - 14 + scale * (y - (low + high) / 2)]);
  for (let round = 0; round < 60; round += 1) {
    for (let a = 0; a < spot.length; a += 1) {
      for (let b = a + 1; b < spot.length; b += 1) {
        const [dx, dy] = [spot[b][0] - spot[a][0] || 0.1, spot[b][1] - spot[a][1] || 0.1 * (b - a)];
        const [overX, overY] = [apart[0] - Math.abs(dx), apart[1] - Math.abs(dy)];
        if (overX <= 0 || overY <= 0) continue;
        const [moveX, moveY] = overX / apart[0] < overY / apart[1] ? [(Math.sign(dx) * overX) / 2, 0] : [0, (Math.sign(dy) * overY) / 2];
        spot[a] = [spot[a][0] - moveX, spot[a][1] - moveY];
        spot[b] = [spot[b][0] + moveX, spot[b][1] + moveY];
      }
    }
  }
  return spot.map(([x, y]) => [Math.min(width - 46, Math.max(46, x)), Math.min(height - 50, Math.max(22, y))]);
}

// Returns a function for the round trip between two nodes of the map, ms; null if unknown.
export function delaysOf(nodes) {
  const at = new Map((nodes?.names ?? []).map((name, index) => [name, index]));
  return (a, b) => nodes?.rtt_ms[at.get(a)]?.[at.get(b)] ?? null;
}

// The largest round trip among some nodes, with its two nodes; null if all are unknown.
export function farthestPair(nodes, delayOf) {
  let worst = null;
  nodes.forEach((a, index) => nodes.slice(index + 1).forEach((b) => {
    const ms = delayOf(a, b);
    if (ms !== null && (worst === null || ms > worst.ms)) worst = { a, b, ms };
  }));
  return worst;
}
