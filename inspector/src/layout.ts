// Where things stand. Each open group is laid out by itself and is then one box in the group around it, so that frames never
// overlap and nothing strange stands in one: by dagre where a level is small, else in plain layers, which takes no time.

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
  label: string;
  depth: number;
}

export type Point = [number, number];

// How a link runs between its ends: over some points, or down a lane that it shares with others to the same leaf.
export interface Route {
  over: Point[];
  lane: number; // the lane's x; NaN where there is none
}

export interface Layout {
  boxes: Box[];
  frames: Frame[]; // around the members of an open group
  routes: (Route | undefined)[]; // by link
  width: number;
  height: number;
}

interface Size {
  width: number;
  height: number;
}

// An open group with what stands directly in it.
interface Level {
  group: string;
  depth: number;
  parent: Level | null;
  items: number[];
  levels: Level[];
}

// One level's result: its children's middles, items first, and how its edges run.
interface Placed extends Size {
  at: Point[];
  routes: Map<number, Route>; // by edge
}

// Within a level. One end may be outside: then it is a door at the level's lower or upper side, OUT or IN.
interface Edge {
  from: number;
  to: number;
}

interface Lifted {
  edge: Edge;
  links: number[];
}

const OUT = -1;
const IN = -2;
const CAREFUL_NODES = 400; // of a level, up to which dagre takes less than a second
const CAREFUL_IN_ALL = 4000; // ... and of all levels; where there are more it gets the small levels
const CAREFUL_FEW = 40;
const CAREFUL_SPAN = 2500; // and the sum of ranks that edges go down, since each rank costs it a node
const SHARED = 4; // a leaf with so many givers stands at the side, at the end of a lane
export const HEIGHT = 40;
const GAP = 22;
const ROW_GAP = 36;
const PAD = 14;
const TITLE = 26;
const LONGEST_TITLE = 230;

export function layout(model: Model, measure: (text: string) => number): Layout {
  const sizes: Size[] = model.items.map((item) => ({
    width: Math.min(280, Math.max(item.leaf ? 118 : 76, measure(item.label) + (item.node < 0 ? 50 : 36), measure(item.detail) * 0.86 + 28)),
    height: HEIGHT,
  }));
  const levels = levelsOf(model);
  const edges = lift(model, levels);
  // The innermost first: what a level's groups measure is known when it is laid out.
  const placed = new Map<Level, Placed>();
  const most = model.items.length <= CAREFUL_IN_ALL ? CAREFUL_NODES : CAREFUL_FEW;
  for (const level of [...levels].reverse()) {
    const inner = level.levels.map((child) => frameSize(placed.get(child)!));
    const children = [...level.items.map((i) => sizes[i]), ...inner];
    const leaf = level.items.map((i) => model.items[i].leaf);
    const found = arrange(children, edges.get(level)!.map(({ edge }) => edge), leaf, most);
    const title = level.parent ? Math.min(LONGEST_TITLE, measure(frameLabel(model, level))) : 0;
    placed.set(level, widened(found, title));
  }
  return assemble(model, levels, sizes, placed, edges);
}

// The links as edges of each level that they lie in or leave.
function lift(model: Model, levels: Level[]): Map<Level, Lifted[]> {
  const home = homes(levels, model.items.length);
  const known = new Map(levels.map((level) => [level, new Map<string, Lifted>()]));
  const add = (level: Level, from: number, to: number, link: number): void => {
    const edges = known.get(level)!;
    const entry = edges.get(`${from} ${to}`);
    if (entry) entry.links.push(link);
    else edges.set(`${from} ${to}`, { edge: { from, to }, links: [link] });
  };
  model.links.forEach((link, n) => {
    const [a, b] = [home[link.from], home[link.to]];
    let both = 0; // the innermost level that has both ends
    while (a[both + 1] && b[both + 1] && a[both].child === b[both].child) both++;
    for (const { level, child } of a.slice(both + 1).reverse()) add(level, child, OUT, n);
    add(a[both].level, a[both].child, b[both].child, n);
    for (const { level, child } of b.slice(both + 1)) add(level, IN, child, n);
  });
  return new Map([...known].map(([level, edges]) => [level, [...edges.values()]]));
}

// Absolute places: the outermost first.
function assemble(model: Model, levels: Level[], sizes: Size[], placed: Map<Level, Placed>, edges: Map<Level, Lifted[]>): Layout {
  const boxes: Box[] = new Array(sizes.length);
  const frames: Frame[] = [];
  const routes: (Route | undefined)[] = new Array(model.links.length);
  const origin = new Map<Level, Point>([[levels[0], [PAD, PAD]]]);
  for (const level of levels) {
    const [left, top] = origin.get(level)!;
    const { at, routes: found } = placed.get(level)!;
    level.items.forEach((i, n) => (boxes[i] = { x: left + at[n][0], y: top + at[n][1], ...sizes[i] }));
    level.levels.forEach((child, n) => {
      const size = placed.get(child)!;
      const [x, y] = at[level.items.length + n];
      const { width, height } = frameSize(size);
      frames.push({ x: left + x, y: top + y, width, height, group: child.group, depth: child.depth, label: frameLabel(model, child) });
      origin.set(child, [left + x - size.width / 2, top + y - height / 2 + TITLE]);
    });
    edges.get(level)!.forEach(({ links }, e) => {
      const route = found.get(e);
      if (!route) return;
      const over = route.over.map(([x, y]): Point => [left + x, top + y]);
      for (const n of links) {
        const known = (routes[n] ??= { over: [], lane: NaN });
        known.over.push(...over);
        if (!Number.isNaN(route.lane)) known.lane = left + route.lane;
      }
    });
  }
  for (const route of routes) route?.over.sort((a, b) => a[1] - b[1]);
  const outer = placed.get(levels[0])!;
  return { boxes, frames, routes, width: outer.width + 2 * PAD, height: outer.height + 2 * PAD };
}

const frameSize = ({ width, height }: Size): Size => ({ width: width + 2 * PAD, height: height + PAD + TITLE });

// A level with room for its title, in the middle of that.
function widened(level: Placed, width: number): Placed {
  const more = Math.max(0, width - level.width) / 2;
  if (!more) return level;
  const right = ([x, y]: Point): Point => [x + more, y];
  const routes = new Map([...level.routes].map(([e, { over, lane }]) => [e, { over: over.map(right), lane: lane + more }]));
  return { at: level.at.map(right), routes, width, height: level.height };
}

function frameLabel(model: Model, level: Level): string {
  return model.groupLabel(level.group, level.parent?.group);
}

// The open groups, each before those in it; one that holds a single thing is left out.
function levelsOf(model: Model): Level[] {
  const root: Level = { group: "", depth: 0, parent: null, items: [], levels: [] };
  const known = new Map<string, Level>([["", root]]);
  model.items.forEach((item, i) => {
    let level = root;
    for (const group of openPath(model, item)) {
      let next = known.get(group);
      if (!next) {
        next = { group, depth: level.depth + 1, parent: level, items: [], levels: [] };
        known.set(group, next);
        level.levels.push(next);
      }
      level = next;
    }
    level.items.push(i);
  });
  const all = [...known.values()].sort((a, b) => b.depth - a.depth);
  for (const level of all) {
    if (!level.parent || level.items.length + level.levels.length > 1) continue;
    level.parent.levels = level.parent.levels.filter((child) => child !== level);
    level.parent.items.push(...level.items);
    level.parent.levels.push(...level.levels);
    for (const child of level.levels) child.parent = level.parent;
  }
  const found: Level[] = [root];
  for (const level of found) found.push(...level.levels);
  return found;
}

function openPath(model: Model, item: Item): string[] {
  const path = model.path(item.members[0]);
  return item.node >= 0 ? path : path.slice(0, path.indexOf(item.group));
}

// For each item the levels around it with its place in each, the outermost first.
function homes(levels: Level[], count: number): { level: Level; child: number }[][] {
  const above = new Map<Level, { level: Level; child: number }[]>([[levels[0], []]]);
  const found: { level: Level; child: number }[][] = new Array(count);
  for (const level of levels) {
    const path = above.get(level)!;
    level.items.forEach((i, n) => (found[i] = [...path, { level, child: n }]));
    level.levels.forEach((child, n) => above.set(child, [...path, { level, child: level.items.length + n }]));
  }
  return found;
}

// One level, by dagre if it has at most so many nodes. A leaf that many send to stands at the side: its edges run in one
// lane and push nothing apart.
function arrange(sizes: Size[], edges: Edge[], leaf: boolean[], most: number): Placed {
  const given = new Array<number>(sizes.length).fill(0);
  for (const { to } of edges) if (to >= 0) given[to]++;
  const shared = sizes.map((_, i) => !!leaf[i] && given[i] >= SHARED);
  const number = new Map<number, number>([[OUT, OUT], [IN, IN]]);
  let count = 0;
  sizes.forEach((_, i) => shared[i] || number.set(i, count++));
  const kept: number[] = [];
  const inner: Edge[] = [];
  edges.forEach(({ from, to }, e) => {
    if (shared[to]) return;
    kept.push(e);
    inner.push({ from: number.get(from)!, to: number.get(to)! });
  });
  const body = sizes.filter((_, i) => !shared[i]);
  const rank = ranks(body.length, inner);
  const span = inner.reduce((sum, { from, to }) => sum + Math.max(1, (rank[to] ?? 0) - (rank[from] ?? 0)), 0);
  const careful = body.length <= most && span <= CAREFUL_SPAN;
  const found = careful ? withDagre(body, inner, rank) : inLayers(body, inner, rank);
  const routes = new Map<number, Route>();
  found.routes.forEach((route, e) => routes.set(kept[e], route));
  const at: Point[] = sizes.map((_, i) => (shared[i] ? [0, 0] : found.at[number.get(i)!]));
  let { width, height } = found;
  const lowest = edges.reduce((most, { from, to }) => (shared[to] && from >= 0 ? Math.max(most, at[from][1] + sizes[from].height / 2) : most), 0);
  sizes.forEach((size, i) => {
    if (!shared[i]) return;
    at[i] = [width + GAP + size.width / 2, lowest + ROW_GAP + size.height / 2];
    width += GAP + size.width;
    height = Math.max(height, at[i][1] + size.height / 2);
  });
  edges.forEach(({ to }, e) => shared[to] && routes.set(e, { over: [], lane: at[to][0] }));
  return { at, routes, width, height };
}

// Doors are nodes of no size: those out below the last rank, those in above the first, so that a way to them is kept free.
function withDagre(sizes: Size[], edges: Edge[], rank: number[]): Placed {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: GAP, ranksep: ROW_GAP, marginx: 0, marginy: 0, ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  sizes.forEach((size, i) => graph.setNode(String(i), { ...size }));
  const last = rank.reduce((most, r) => Math.max(most, r), 0);
  const ends = edges.map(({ from, to }): [string, string] => [from === IN ? `in ${to}` : String(from), to === OUT ? `out ${from}` : String(to)]);
  edges.forEach(({ from, to }, e) => {
    const [a, b] = ends[e];
    const door = from === IN ? a : to === OUT ? b : "";
    const far = from === IN ? rank[to] : to === OUT ? last - rank[from] : 0;
    if (door && !far) return; // nothing stands in between
    if (door) graph.setNode(door, { width: 1, height: 1 });
    graph.setEdge(a, b, door ? { minlen: far } : {});
  });
  dagre.layout(graph);
  const at = sizes.map((_, i): Point => [graph.node(String(i)).x, graph.node(String(i)).y]);
  const routes = new Map<number, Route>();
  edges.forEach(({ from, to }, e) => {
    const points = (graph.edge(...ends[e]) as { points: { x: number; y: number }[] } | undefined)?.points;
    // Between neighbours there is one point, half way; a longer way leads around others.
    if (points && (points.length > 3 || from < 0 || to < 0)) routes.set(e, { over: points.slice(from === IN ? 0 : 1, to === OUT ? undefined : -1).map(({ x, y }): Point => [x, y]), lane: NaN });
  });
  const size = graph.graph() as Size;
  return { at, routes, width: Math.max(0, size.width), height: Math.max(0, size.height) };
}

// Each node one layer below the lowest that sends to it; in a layer, near the middle of those.
function inLayers(sizes: Size[], edges: Edge[], rank: number[]): Placed {
  const above = sizes.map(() => [] as number[]);
  for (const { from, to } of edges) if (from >= 0 && to >= 0 && rank[from] < rank[to]) above[to].push(from);
  const rows: number[][] = [];
  rank.forEach((r, i) => (rows[r] ??= []).push(i));
  const at: Point[] = new Array(sizes.length);
  let y = 0;
  for (const row of rows) {
    const tallest = row.reduce((most, i) => Math.max(most, sizes[i].height), 0);
    const wish = (i: number): number => (above[i].length ? above[i].reduce((sum, j) => sum + at[j][0], 0) / above[i].length : 0);
    const order = row.map((i) => [wish(i), i] as const).sort((a, b) => a[0] - b[0]);
    const total = order.reduce((sum, [, i]) => sum + sizes[i].width + GAP, -GAP);
    let x = order.reduce((sum, [wished]) => sum + wished, 0) / order.length - total / 2;
    for (const [, i] of order) {
      at[i] = [x + sizes[i].width / 2, y + tallest / 2];
      x += sizes[i].width + GAP;
    }
    y += tallest + ROW_GAP;
  }
  const left = at.reduce((least, [x], i) => Math.min(least, x - sizes[i].width / 2), Infinity);
  for (const point of at) point[0] -= left;
  const width = at.reduce((most, [x], i) => Math.max(most, x + sizes[i].width / 2), 0);
  return { at, routes: new Map(), width, height: Math.max(0, y - ROW_GAP) };
}

// The longest way to each node. Groups may send to each other both ways: what is left then takes the next rank.
function ranks(count: number, edges: Edge[]): number[] {
  const out = Array.from({ length: count }, () => [] as number[]);
  const left = new Array<number>(count).fill(0);
  for (const { from, to } of edges) {
    if (from < 0 || to < 0) continue;
    out[from].push(to);
    left[to]++;
  }
  const rank = new Array<number>(count).fill(0);
  const done = new Array<boolean>(count).fill(false);
  const ready: number[] = [];
  left.forEach((n, i) => n || ready.push(i));
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
