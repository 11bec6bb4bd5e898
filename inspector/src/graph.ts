// The graph on a canvas: pan, zoom, hover, selection, and the state of a backward drawn over it.

import { svg } from "./dom";
import { layout, type Box, type Frame, type Layout, type Point } from "./layout";
import type { Model, NodeState, Replay } from "./model";
import { numberOf, Scale, type Overlay } from "./overlay";

export interface Colors {
  [name: string]: string;
}

interface View {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

export const MARKS: Record<NodeState, string> = { idle: "", waiting: "◔", ready: "●", running: "▶", done: "✓" };

const EDGE = 8; // around a graph that fills the view
const LEAST_FIT = 0.7; // a graph that fits at this size or a larger one is shown whole
const LEAST_PRINTED = 0.3;
const PRINTED = 3; // dots for each of the screen's

// Where a graph of this extent begins in a view, as near as may be to where it was to begin: no empty space beside it
// that a part of it could fill, and in the middle if all of it fits.
function filled(begin: number, extent: number, view: number): number {
  const spare = view - extent;
  return spare >= 0 ? spare / 2 : Math.min(EDGE, Math.max(spare - EDGE, begin));
}

export class GraphView {
  readonly canvas: HTMLCanvasElement;
  onSelect: (node: number) => void = () => {};
  onFold: (group: string) => void = () => {};
  selected = -1;
  replay: Replay | null = null;
  position = -1;
  travel = -1; // how far the gradients of the running step have come, from 0 to 1; -1: none travel
  scale: Scale | null = null; // of the numbers that color the boxes; null: the replay does
  private numbers: (number | null)[] = []; // of boxes
  private placed!: Layout;
  private ways: (string | undefined)[] = []; // of links, as paths; made when one is first seen
  private linkAt = new Map<string, number>();
  private zoomed = 1;
  private left = 0;
  private top = 0;
  private ink: CanvasRenderingContext2D;
  private waiting = false;
  private hover = -1;
  private touched = false; // whether the user has moved the view
  private seen: { zoomed: number; left: number; top: number; touched: boolean } | null = null; // before a print
  private sharpness = 1;
  private pointers = new Map<number, { x: number; y: number }>();
  private moved = 0;
  private states: { position: number; replay: Replay | null; items: unknown; found: NodeState[] } = { position: -1, replay: null, items: null, found: [] };

  constructor(readonly model: Model, private colors: () => Colors) {
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.id = "graph";
    this.ink = this.canvas.getContext("2d")!;
    this.listen();
    this.relayout();
  }

  relayout(): void {
    this.ink.font = FONT;
    this.placed = layout(this.model, (text) => this.ink.measureText(text).width);
    this.ways = new Array(this.model.links.length);
    this.linkAt = new Map(this.model.links.map((link, n) => [`${link.from} ${link.to}`, n]));
    this.hover = -1;
    if (this.scale) this.color(this.scale.overlay);
    this.canvas.setAttribute(
      "aria-label",
      `Graph of ${this.model.drawn.length} nodes, ${this.model.items.length} shown. Arrow keys go along edges; the list under Find reads them out.`,
    );
    this.draw();
  }

  // Colors the boxes by an overlay, or by the replay again.
  color(overlay: Overlay | null): void {
    this.numbers = overlay ? this.model.items.map((item) => numberOf(overlay, item.members)) : [];
    this.scale = overlay ? new Scale(overlay, this.numbers) : null;
    this.draw();
  }

  // Shows all of the graph, or its beginning where nobody could read all of it; the `whole` of it if that is asked for.
  fit(whole = false): void {
    const { width, height } = this.size();
    const wanted = Math.min(width / this.placed.width, height / this.placed.height, 1.15);
    this.zoomed = whole || wanted >= LEAST_FIT ? wanted : Math.max(wanted, Math.min(0.82, width / Math.min(this.placed.width, 900)));
    this.left = width / 2 - (this.placed.width / 2) * this.zoomed;
    const fits = this.placed.height * this.zoomed <= height;
    this.top = fits ? (height - this.placed.height * this.zoomed) / 2 : EDGE;
    if (!fits || this.placed.width * this.zoomed > width) {
      const root = (this.replay?.backward ?? this.model.recording.backwards[0])?.root;
      const item = root === undefined ? -1 : this.model.itemOf[root];
      if (item >= 0) this.left = width / 2 - this.placed.boxes[item].x * this.zoomed;
    }
    this.touched = false;
    this.draw();
  }

  // All of the graph at a printer's resolution, and back to what was seen.
  print(on: boolean): void {
    if (on) {
      this.seen = { zoomed: this.zoomed, left: this.left, top: this.top, touched: this.touched };
      this.sharpness = PRINTED;
      this.fit(this.placed.height * LEAST_PRINTED <= this.size().height);
      this.touched = true;
    } else if (this.seen) {
      this.sharpness = 1;
      Object.assign(this, this.seen);
    }
    this.resize();
    this.paint();
  }

  private ratio(): number {
    return (window.devicePixelRatio || 1) * this.sharpness;
  }

  resize(): void {
    const { width, height } = this.size();
    const ratio = this.ratio();
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    if (!this.touched) this.fit();
    this.draw();
  }

  private size(): { width: number; height: number } {
    return { width: this.canvas.clientWidth || 800, height: this.canvas.clientHeight || 500 };
  }

  // Brings a node into view, gently if it is there already.
  center(node: number, force = true): void {
    const item = this.model.itemOf[node];
    if (item < 0) return;
    const box = this.placed.boxes[item];
    const { width, height } = this.size();
    const x = box.x * this.zoomed + this.left;
    const y = box.y * this.zoomed + this.top;
    if (!force && x > 60 && x < width - 60 && y > 40 && y < height - 40) return;
    this.left = filled(this.left + width / 2 - x, this.placed.width * this.zoomed, width);
    this.top = filled(this.top + height / 2 - y, this.placed.height * this.zoomed, height);
    this.touched = true;
    this.draw();
  }

  zoom(factor: number, x = this.size().width / 2, y = this.size().height / 2): void {
    const next = Math.min(4, Math.max(0.02, this.zoomed * factor));
    this.left = x - ((x - this.left) * next) / this.zoomed;
    this.top = y - ((y - this.top) * next) / this.zoomed;
    this.zoomed = next;
    this.touched = true;
    this.draw();
  }

  // Where a node is on the screen, for tests and for keyboards.
  screen(node: number): { x: number; y: number } | null {
    const item = this.model.itemOf[node];
    if (item < 0) return null;
    const box = this.placed.boxes[item];
    return { x: box.x * this.zoomed + this.left, y: box.y * this.zoomed + this.top };
  }

  draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  paint(): void {
    const { ink, placed } = this;
    const { width, height } = this.size();
    const ratio = this.ratio();
    const colors = this.colors();
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.clearRect(0, 0, width, height);
    ink.setTransform(ratio * this.zoomed, 0, 0, ratio * this.zoomed, ratio * this.left, ratio * this.top);
    const view = { x0: -this.left / this.zoomed, y0: -this.top / this.zoomed, x1: (width - this.left) / this.zoomed, y1: (height - this.top) / this.zoomed };
    for (const frame of placed.frames) if (sees(view, frame)) this.paintFrame(frame, colors);
    this.paintLinks(view, colors);
    if (this.zoomed >= 0.3) for (const frame of placed.frames) if (sees(view, frame)) this.paintTitle(frame, colors);
    placed.boxes.forEach((box, i) => sees(view, box) && this.paintItem(i, box, colors));
    this.paintSent(colors);
  }

  private paintFrame(box: Frame, colors: Colors): void {
    const { ink } = this;
    ink.fillStyle = box.depth % 2 ? colors.frame : colors.paper;
    ink.strokeStyle = colors.line;
    ink.lineWidth = 1;
    const [left, top] = [box.x - box.width / 2, box.y - box.height / 2];
    rounded(ink, left, top, box.width, box.height, 8);
    ink.fill();
    ink.stroke();
  }

  // The name of a group, over whatever link crosses it.
  private paintTitle(box: Frame, colors: Colors): void {
    const { ink } = this;
    ink.font = SMALL;
    ink.textAlign = "left";
    ink.textBaseline = "top";
    ink.lineWidth = 4;
    ink.lineJoin = "round";
    ink.strokeStyle = box.depth % 2 ? colors.frame : colors.paper;
    ink.fillStyle = colors.quiet;
    const text = `▾ ${fitting(ink, box.label, box.width - 30)}`;
    const [left, top] = [box.x - box.width / 2 + 8, box.y - box.height / 2 + 6];
    ink.strokeText(text, left, top);
    ink.fillText(text, left, top);
  }

  // The way of a link as an SVG path.
  private way(n: number): string {
    const known = this.ways[n];
    if (known) return known;
    const { from, to } = this.model.links[n];
    const made = wayOf(this.placed.boxes[from], this.placed.boxes[to], this.placed.routes[n]);
    this.ways[n] = made;
    return made;
  }

  private paintLinks(view: View, colors: Colors): void {
    const { ink, placed } = this;
    const near = this.selected >= 0 ? this.model.itemOf[this.selected] : -1;
    const chosen: number[] = [];
    ink.strokeStyle = ink.fillStyle = colors.edge;
    ink.lineWidth = Math.max(1, 0.7 / this.zoomed);
    this.model.links.forEach((link, n) => {
      const [a, b] = [placed.boxes[link.from], placed.boxes[link.to]];
      if (Math.max(a.y, b.y) + 40 < view.y0 || Math.min(a.y, b.y) - 40 > view.y1) return;
      if (Math.max(a.x, b.x) + 300 < view.x0 || Math.min(a.x, b.x) - 300 > view.x1) return;
      if (link.from === near || link.to === near) return void chosen.push(n);
      ink.globalAlpha = placed.routes[n]?.lane ? 0.55 : 1;
      ink.stroke(new Path2D(this.way(n)));
      if (this.zoomed > 0.35 && a.y < b.y) arrow(ink, b);
    });
    ink.globalAlpha = 1;
    ink.strokeStyle = ink.fillStyle = colors.accent;
    ink.lineWidth = 2;
    for (const n of chosen) {
      const { from, to } = this.model.links[n];
      ink.stroke(new Path2D(this.way(n)));
      if (this.zoomed > 0.35 && placed.boxes[from].y < placed.boxes[to].y) arrow(ink, placed.boxes[to]);
    }
  }

  // What a box shows, remembered for one position of one replay: a folded group may have many members.
  private stateOf(i: number): NodeState {
    if (this.states.position !== this.position || this.states.replay !== this.replay || this.states.items !== this.model.items) {
      this.states = { position: this.position, replay: this.replay, items: this.model.items, found: [] };
    }
    return (this.states.found[i] ??= this.findState(i));
  }

  // The furthest of its members' states.
  private findState(i: number): NodeState {
    if (!this.replay || this.position < 0) return "idle";
    const item = this.model.items[i];
    if (item.node >= 0) return this.replay.state(item.node, this.position);
    let done = 0;
    let busy: NodeState = "idle";
    for (const node of item.members) {
      const state = this.replay.state(node, this.position);
      if (state === "running") return "running";
      if (state === "ready") busy = "ready";
      else if (state === "waiting" && busy === "idle") busy = "waiting";
      else if (state === "done") done++;
    }
    return busy !== "idle" ? busy : done === item.members.length ? "done" : done ? "waiting" : "idle";
  }

  private paintItem(i: number, box: Box, colors: Colors): void {
    const { ink } = this;
    const item = this.model.items[i];
    const state = this.stateOf(i);
    const bad = this.model.notFinite.size > 0 && item.members.some((node) => this.model.notFinite.has(node));
    const x = box.x - box.width / 2;
    const y = box.y - box.height / 2;
    const [face, rim] = this.scale ? this.overlaid(i, colors) : this.faceOf(state, item.leaf, bad, colors);
    ink.fillStyle = face;
    ink.strokeStyle = rim;
    ink.lineWidth = Math.max(state === "running" ? 2.5 : 1.2, 0.8 / this.zoomed);
    const round = item.leaf ? box.height / 2 : item.node < 0 ? 4 : 7;
    if (item.node < 0) {
      rounded(ink, x + 4, y + 4, box.width, box.height, round);
      ink.stroke();
    }
    rounded(ink, x, y, box.width, box.height, round);
    ink.fill();
    if (bad) ink.setLineDash([5, 3]);
    ink.stroke();
    ink.setLineDash([]);
    const chosen = this.selected >= 0 && this.model.itemOf[this.selected] === i;
    if (chosen || this.hover === i) {
      ink.strokeStyle = chosen ? colors.accent : colors.quiet;
      ink.lineWidth = chosen ? 2.5 : 1.5;
      rounded(ink, x - 4, y - 4, box.width + 8, box.height + 8, round + 4);
      ink.stroke();
    }
    if (this.zoomed > 0.22) this.paintText(i, box, state, bad, colors);
  }

  // What an overlay colors a box with; empty without one, or without a number.
  colorOf(i: number, colors: Colors): string {
    const value = this.numbers[i] ?? null;
    return this.scale && value !== null ? this.scale.color(value, colors) : "";
  }

  private overlaid(i: number, colors: Colors): [string, string] {
    const face = this.colorOf(i, colors);
    return face ? [face, colors.rim] : [colors.paper, colors.line];
  }

  private faceOf(state: NodeState, leaf: boolean, bad: boolean, colors: Colors): [string, string] {
    if (state === "running") return [colors.runningFace, colors.running];
    if (state === "ready" || state === "waiting") return [colors.readyFace, colors.ready];
    if (bad) return [colors.badFace, colors.bad];
    if (state === "done") return [colors.doneFace, colors.done];
    return leaf ? [colors.leafFace, colors.leaf] : [colors.face, colors.rim];
  }

  private paintText(i: number, box: Box, state: NodeState, bad: boolean, colors: Colors): void {
    const { ink } = this;
    const item = this.model.items[i];
    ink.textAlign = "center";
    ink.textBaseline = "middle";
    ink.fillStyle = colors.ink;
    ink.font = FONT;
    const mark = bad || MARKS[state] ? `${bad ? "⚠" : ""}${MARKS[state]} ` : "";
    const fold = item.node < 0 ? "▸ " : "";
    ink.fillText(mark + fold + item.label, box.x, box.y - 7, box.width - 14);
    if (this.zoomed < 0.45) return;
    ink.fillStyle = this.scale ? colors.ink : colors.quiet;
    ink.font = SMALL;
    ink.fillText(this.detailOf(i, state), box.x, box.y + 9, box.width - 14);
  }

  private detailOf(i: number, state: NodeState): string {
    const item = this.model.items[i];
    const value = this.scale ? this.numbers[i] : null;
    if (this.scale) return value === null ? "–" : this.scale.overlay.tell(value);
    if (!this.replay || this.position < 0) return item.detail;
    if (item.node >= 0 && state === "waiting")
      return `${this.replay.arrived(item.node, this.position)} of ${this.replay.awaited(item.node)} summed`;
    if (item.leaf && state === "done") {
      const step = this.replay.backward.steps[this.replay.runAt.get(item.node)!];
      const grad = this.model.figures(step.grad);
      if (grad) return `.grad ‖${typeof grad.norm === "number" ? Number(grad.norm.toPrecision(3)) : grad.norm ?? "–"}‖`;
    }
    return item.detail;
  }

  // What the running node sends: along its edges, each with its norm.
  private paintSent(colors: Colors): void {
    const step = this.replay?.backward.steps[this.position];
    const from = step ? this.model.itemOf[step.node] : -1;
    if (!step || from < 0) return;
    const { ink } = this;
    for (const [, to, , value] of step.sent) {
      const n = this.linkAt.get(`${from} ${this.model.itemOf[to]}`);
      if (n === undefined) continue;
      ink.strokeStyle = colors.running;
      ink.lineWidth = 2.5;
      ink.stroke(new Path2D(this.way(n)));
      const way = svg("path", { d: this.way(n) }) as SVGPathElement;
      const { x, y } = way.getPointAtLength(way.getTotalLength() * (this.travel >= 0 ? this.travel : 0.5));
      const norm = this.model.figures(value)?.norm;
      const text = norm === undefined || norm === null ? "" : `‖${typeof norm === "number" ? Number(norm.toPrecision(3)) : norm}‖`;
      this.paintGradient(x, y, this.zoomed > 0.4 ? text : "", colors);
    }
  }

  private paintGradient(x: number, y: number, text: string, colors: Colors): void {
    const { ink } = this;
    ink.font = SMALL;
    const wide = text ? ink.measureText(text).width + 12 : 12;
    ink.fillStyle = colors.runningFace;
    ink.strokeStyle = colors.running;
    ink.lineWidth = 1.5;
    rounded(ink, x - wide / 2, y - 8, wide, 16, 8);
    ink.fill();
    ink.stroke();
    ink.fillStyle = colors.ink;
    ink.textAlign = "center";
    ink.textBaseline = "middle";
    ink.fillText(text, x, y + 0.5);
  }

  private hit(clientX: number, clientY: number): { item: number; frame: string } {
    const bounds = this.canvas.getBoundingClientRect();
    const x = (clientX - bounds.left - this.left) / this.zoomed;
    const y = (clientY - bounds.top - this.top) / this.zoomed;
    const inside = (box: Box): boolean => Math.abs(x - box.x) <= box.width / 2 && Math.abs(y - box.y) <= box.height / 2;
    const item = this.placed.boxes.findIndex(inside);
    const frame = [...this.placed.frames].reverse().find((f) => inside(f) && y < f.y - f.height / 2 + 24);
    return { item, frame: frame?.group ?? "" };
  }

  private choose(clientX: number, clientY: number): void {
    const { item, frame } = this.hit(clientX, clientY);
    if (item >= 0) {
      const found = this.model.items[item];
      if (found.node >= 0) this.onSelect(found.node);
      else this.onFold(found.group);
    } else if (frame) this.onFold(frame);
  }

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (this.pointers.size === 1) this.moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => this.pointerMoved(event));
    canvas.addEventListener("pointerup", (event) => {
      this.pointers.delete(event.pointerId);
      if (this.moved < 5 && !this.pointers.size) this.choose(event.clientX, event.clientY);
    });
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const bounds = canvas.getBoundingClientRect();
        this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - bounds.left, event.clientY - bounds.top);
      },
      { passive: false },
    );
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  // The name of what the pointer is on, where the graph has no room for all of it.
  private nameOf(item: number, frame: string): string {
    const found = this.model.items[item];
    const node = found && found.node >= 0 ? this.model.nodes[found.node] : null;
    if (node) return node.variable && !node.leaf ? `${node.variable} = ${node.name}` : node.variable || node.name;
    return found || frame ? this.model.groupName(found ? found.group : frame) : "";
  }

  private pointerMoved(event: PointerEvent): void {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      const { item, frame } = this.hit(event.clientX, event.clientY);
      this.canvas.style.cursor = item >= 0 || frame ? "pointer" : "grab";
      this.canvas.title = this.nameOf(item, frame);
      if (item !== this.hover) {
        this.hover = item;
        this.draw();
      }
      return;
    }
    const dx = event.clientX - before.x;
    const dy = event.clientY - before.y;
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)![1];
      const span = (p: { x: number; y: number }): number => Math.hypot(p.x - other.x, p.y - other.y);
      const bounds = this.canvas.getBoundingClientRect();
      this.zoom(span({ x: event.clientX, y: event.clientY }) / Math.max(1, span(before)), other.x - bounds.left, other.y - bounds.top);
    } else if (this.moved >= 5) {
      this.left += dx;
      this.top += dy;
      this.touched = true;
      this.draw();
    }
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }
}

const FAMILY = 'system-ui, -apple-system, "Segoe UI", "Helvetica Neue", "Liberation Sans", sans-serif';
const FONT = `13px ${FAMILY}`;
const SMALL = `11px ${FAMILY}`;

function rounded(ink: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, radius: number): void {
  ink.beginPath();
  ink.roundRect(x, y, width, height, radius);
}

function sees(view: View, box: Box): boolean {
  const [w, h] = [box.width / 2 + 8, box.height / 2 + 8];
  return box.x + w > view.x0 && box.x - w < view.x1 && box.y + h > view.y0 && box.y - h < view.y1;
}

function arrow(ink: CanvasRenderingContext2D, box: Box): void {
  const y = box.y - box.height / 2;
  ink.beginPath();
  ink.moveTo(box.x, y);
  ink.lineTo(box.x - 3.5, y - 6.5);
  ink.lineTo(box.x + 3.5, y - 6.5);
  ink.fill();
}

// Text cut to a width, with an ellipsis.
function fitting(ink: CanvasRenderingContext2D, text: string, width: number): string {
  if (ink.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && ink.measureText(`${text.slice(0, end)}…`).width > width) end--;
  return `${text.slice(0, end)}…`;
}

// From the bottom of one box to the top of another: over the points of a route, each passed straight down; or out to a lane
// and down that.
function wayOf(a: Box, b: Box, route: Layout["routes"][number]): string {
  const down = a.y <= b.y ? 1 : -1;
  const [x0, y0] = [a.x, a.y + (down * a.height) / 2];
  const [x1, y1] = [b.x, b.y - (down * b.height) / 2];
  if (route && !Number.isNaN(route.lane)) {
    const r = x1 > x0 ? 8 : -8;
    return `M${x0} ${y0}v4q0 8 ${r} 8H${x1 - r}q${r} 0 ${r} 8V${y1}`;
  }
  const over = (route?.over ?? []).filter(([, y]) => (y - y0) * down > 0 && (y1 - y) * down > 0);
  const points: Point[] = [[x0, y0], ...over, [x1, y1]];
  let way = `M${x0} ${y0}`;
  for (let n = 1; n < points.length; n++) {
    const [px, py] = points[n - 1];
    const [x, y] = points[n];
    const bend = (down * Math.min(60, Math.abs(y - py))) / 2;
    way += `C${px} ${py + bend} ${x} ${y - bend} ${x} ${y}`;
  }
  return way;
}
