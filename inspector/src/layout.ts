// Where things stand: by dagre where the graph is small enough for it, else in plain layers, which takes no time.

import dagre from "@dagrejs/dagre";
import type { Item, Model } from "./model";

export interface Box {
  x: number; // the middle
  y: number;
  width: number;
  height: number;
}

export interface Frame extends Box {
  group: string;
  depth: number;
}

export interface Layout {
  boxes: Box[];
  frames: Frame[]; // around the nodes of an open group
  width: number;
  height: number;
}

const DRAWN_WITH_CARE = 450;
export const HEIGHT = 40;

export function layout(model: Model, measure: (text: string) => number): Layout {
  const sizes = model.items.map((item) => ({
    width: Math.min(240, Math.max(item.leaf ? 104 : 76, measure(item.label) + 30, measure(item.detail) * 0.86 + 26)),
    height: HEIGHT,
  }));
  return model.items.length <= DRAWN_WITH_CARE ? withDagre(model, sizes) : inLayers(model, sizes);
}

function withDagre(model: Model, sizes: { width: number; height: number }[]): Layout {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 34, marginx: 24, marginy: 24, ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  sizes.forEach((size, i) => graph.setNode(`n${i}`, { ...size }));
  for (const link of model.links) graph.setEdge(`n${link.from}`, `n${link.to}`, { weight: 1 });
  dagre.layout(graph);
  const boxes = model.items.map((_, i) => graph.node(`n${i}`) as Box);
  const size = graph.graph() as { width: number; height: number };
  return { boxes, frames: framesOf(model, boxes), width: size.width, height: size.height };
}

// The open groups that something stands in.
function openPath(model: Model, item: Item): string[] {
  const path = model.path(item.members[0]);
  return item.node >= 0 ? path : path.slice(0, path.indexOf(item.group));
}

// Frames around the groups whose nodes stand together: where another node is among them, a frame would lie. (Dagre's own
// groups keep nodes together, but take minutes for a small transformer.)
function framesOf(model: Model, boxes: Box[]): Frame[] {
  if (model.grouping !== "module") return [];
  const members = new Map<string, Set<number>>();
  let deepest = 0;
  model.items.forEach((item, i) => {
    const path = openPath(model, item);
    deepest = Math.max(deepest, path.length);
    for (const group of path) {
      if (!members.has(group)) members.set(group, new Set());
      members.get(group)!.add(i);
    }
  });
  const frames: Frame[] = [];
  for (const [group, inside] of members) {
    if (inside.size < 2) continue;
    const depth = group.split(".").length;
    const margin = 8 + 5 * Math.max(0, deepest - depth);
    const all = [...inside].map((i) => boxes[i]);
    const left = Math.min(...all.map((box) => box.x - box.width / 2)) - margin;
    const right = Math.max(...all.map((box) => box.x + box.width / 2)) + margin;
    const top = Math.min(...all.map((box) => box.y - box.height / 2)) - margin - 4;
    const bottom = Math.max(...all.map((box) => box.y + box.height / 2)) + margin;
    const stranger = boxes.some(
      (box, i) => !inside.has(i) && box.x + box.width / 2 > left && box.x - box.width / 2 < right && box.y + box.height / 2 > top && box.y - box.height / 2 < bottom,
    );
    if (!stranger) frames.push({ x: (left + right) / 2, y: (top + bottom) / 2, width: right - left, height: bottom - top, group, depth });
  }
  return frames.sort((a, b) => a.depth - b.depth);
}

// Each node one layer below the lowest that sends to it; in a layer, near the middle of those.
function inLayers(model: Model, sizes: { width: number; height: number }[]): Layout {
  const count = model.items.length;
  const into = Array.from({ length: count }, () => [] as number[]);
  const out = Array.from({ length: count }, () => [] as number[]);
  for (const link of model.links) {
    out[link.from].push(link.to);
    into[link.to].push(link.from);
  }
  const rank = ranks(count, into, out);
  const rows: number[][] = [];
  rank.forEach((r, i) => (rows[r] ??= []).push(i));
  const boxes: Box[] = new Array(count);
  let widest = 0;
  rows.forEach((row, r) => {
    const wish = (i: number): number => {
      const above = into[i].filter((j) => boxes[j] && rank[j] < r);
      return above.length ? above.reduce((sum, j) => sum + boxes[j].x, 0) / above.length : 0;
    };
    const order = row.map((i) => [wish(i), i] as const).sort((a, b) => a[0] - b[0]);
    const total = order.reduce((sum, [, i]) => sum + sizes[i].width + 22, -22);
    const middle = order.length ? order.reduce((sum, [x]) => sum + x, 0) / order.length : 0;
    let x = middle - total / 2;
    for (const [, i] of order) {
      boxes[i] = { x: x + sizes[i].width / 2, y: 40 + r * 78, ...sizes[i] };
      x += sizes[i].width + 22;
    }
    widest = Math.max(widest, total);
  });
  const left = boxes.reduce((least, box) => Math.min(least, box.x - box.width / 2), 0);
  for (const box of boxes) box.x += 24 - left;
  const right = boxes.reduce((most, box) => Math.max(most, box.x + box.width / 2), 0);
  return { boxes, frames: [], width: Math.max(widest, right) + 24, height: rows.length * 78 + 40 };
}

// The longest way to each node. Folded groups may send to each other both ways: what is left then takes the next rank.
function ranks(count: number, into: number[][], out: number[][]): number[] {
  const rank = new Array<number>(count).fill(0);
  const left = into.map((list) => list.length);
  const ready: number[] = [];
  left.forEach((n, i) => n || ready.push(i));
  const done = new Array<boolean>(count).fill(false);
  let at = 0;
  let rest = 0;
  for (;;) {
    while (at < ready.length) {
      const i = ready[at++];
      if (done[i]) continue;
      done[i] = true;
      for (const j of out[i]) {
        if (!done[j]) rank[j] = Math.max(rank[j], rank[i] + 1);
        if (--left[j] === 0) ready.push(j);
      }
    }
    while (rest < count && done[rest]) rest++;
    if (rest === count) return rank;
    ready.push(rest);
  }
}
