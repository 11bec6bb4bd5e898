// The graph on a canvas: pan, zoom, hover, selection, and the state of a backward drawn over it.

import { layout, type Box, type Layout } from "./layout";
import type { Model, NodeState, Replay } from "./model";

export interface Colors {
  [name: string]: string;
}

const MARKS: Record<NodeState, string> = { idle: "", waiting: "◔", ready: "●", running: "▶", done: "✓" };

export class GraphView {
  readonly canvas: HTMLCanvasElement;
  onSelect: (node: number) => void = () => {};
  onFold: (group: string) => void = () => {};
  selected = -1;
  replay: Replay | null = null;
  position = -1;
  travel = -1; // how far the gradients of the running step have come, from 0 to 1; -1: none travel
  private placed!: Layout;
  private scale = 1;
  private left = 0;
  private top = 0;
  private ink: CanvasRenderingContext2D;
  private waiting = false;
  private hover = -1;
  private touched = false; // whether the user has moved the view
  private pointers = new Map<number, { x: number; y: number }>();
  private moved = 0;

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
    this.canvas.setAttribute(
      "aria-label",
      `Graph of ${this.model.used.length} nodes, ${this.model.items.length} shown. Arrow keys go along edges; the list under Find reads them out.`,
    );
    this.draw();
  }

  get itemCount(): number {
    return this.model.items.length;
  }

  fit(): void {
    const { width, height } = this.size();
    const wanted = Math.min(width / this.placed.width, height / this.placed.height, 1.15);
    this.scale = Math.max(wanted, Math.min(0.62, width / Math.min(this.placed.width, 900)));
    this.left = width / 2 - (this.placed.width / 2) * this.scale;
    const fits = this.placed.height * this.scale <= height;
    this.top = fits ? (height - this.placed.height * this.scale) / 2 : 8;
    if (!fits || this.placed.width * this.scale > width) {
      const root = this.model.recording.backwards[0]?.root;
      const item = root === undefined ? -1 : this.model.itemOf[root];
      if (item >= 0) this.left = width / 2 - this.placed.boxes[item].x * this.scale;
    }
    this.touched = false;
    this.draw();
  }

  resize(): void {
    const { width, height } = this.size();
    const ratio = window.devicePixelRatio || 1;
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
    const x = box.x * this.scale + this.left;
    const y = box.y * this.scale + this.top;
    if (!force && x > 60 && x < width - 60 && y > 40 && y < height - 40) return;
    this.left += width / 2 - x;
    this.top += height / 2 - y;
    this.touched = true;
    this.draw();
  }

  zoom(factor: number, x = this.size().width / 2, y = this.size().height / 2): void {
    const next = Math.min(4, Math.max(0.02, this.scale * factor));
    this.left = x - ((x - this.left) * next) / this.scale;
    this.top = y - ((y - this.top) * next) / this.scale;
    this.scale = next;
    this.touched = true;
    this.draw();
  }

  // Where a node is on the screen, for tests and for keyboards.
  screen(node: number): { x: number; y: number } | null {
    const item = this.model.itemOf[node];
    if (item < 0) return null;
    const box = this.placed.boxes[item];
    return { x: box.x * this.scale + this.left, y: box.y * this.scale + this.top };
  }

  draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  private paint(): void {
    const { ink, placed } = this;
    const { width, height } = this.size();
    const ratio = window.devicePixelRatio || 1;
    const colors = this.colors();
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.clearRect(0, 0, width, height);
    ink.setTransform(ratio * this.scale, 0, 0, ratio * this.scale, ratio * this.left, ratio * this.top);
    const view = { x0: -this.left / this.scale, y0: -this.top / this.scale, x1: (width - this.left) / this.scale, y1: (height - this.top) / this.scale };
    for (const frame of placed.frames) this.paintFrame(frame, colors);
    this.paintFrameNames(colors);
    this.paintLinks(view, colors);
    placed.boxes.forEach((box, i) => {
      const inside = box.x + box.width > view.x0 && box.x - box.width < view.x1 && box.y + box.height > view.y0 && box.y - box.height < view.y1;
      if (inside) this.paintItem(i, box, colors);
    });
    if (this.travel >= 0) this.paintTravel(colors);
  }

  private paintFrame(box: Box, colors: Colors): void {
    const { ink } = this;
    ink.fillStyle = colors.frame;
    ink.strokeStyle = colors.line;
    ink.lineWidth = 1;
    rounded(ink, box.x - box.width / 2, box.y - box.height / 2, box.width, box.height, 8);
    ink.fill();
    ink.stroke();
  }

  // Names of groups, the inner ones first; one that would run into another is left out.
  private paintFrameNames(colors: Colors): void {
    if (this.scale < 0.25) return;
    const { ink } = this;
    ink.fillStyle = colors.quiet;
    ink.font = SMALL;
    ink.textAlign = "left";
    ink.textBaseline = "top";
    const taken: [number, number, number][] = [];
    for (const frame of [...this.placed.frames].reverse()) {
      const text = frame.group.slice(frame.group.lastIndexOf(".") + 1);
      const x = frame.x - frame.width / 2 + 7;
      const y = frame.y - frame.height / 2 + 3;
      const end = x + ink.measureText(text).width;
      if (end > frame.x + frame.width / 2 || taken.some(([a, b, c]) => Math.abs(c - y) < 13 && a < end + 6 && b > x - 6)) continue;
      taken.push([x, end, y]);
      ink.fillText(text, x, y);
    }
  }

  private paintLinks(view: { x0: number; y0: number; x1: number; y1: number }, colors: Colors): void {
    const { ink, placed } = this;
    const near = this.selected >= 0 ? this.model.itemOf[this.selected] : -1;
    ink.lineWidth = Math.max(1, 0.7 / this.scale);
    const chosen: [Box, Box][] = [];
    ink.strokeStyle = colors.edge;
    ink.beginPath();
    for (const link of this.model.links) {
      const a = placed.boxes[link.from];
      const b = placed.boxes[link.to];
      if (Math.max(a.y, b.y) + 40 < view.y0 || Math.min(a.y, b.y) - 40 > view.y1) continue;
      if (Math.max(a.x, b.x) + 150 < view.x0 || Math.min(a.x, b.x) - 150 > view.x1) continue;
      if (link.from === near || link.to === near) chosen.push([a, b]);
      else curve(ink, a, b);
    }
    ink.stroke();
    if (this.scale > 0.35) this.paintArrows(view, colors);
    ink.strokeStyle = colors.accent;
    ink.lineWidth = 2;
    ink.beginPath();
    for (const [a, b] of chosen) curve(ink, a, b);
    ink.stroke();
  }

  private paintArrows(view: { y0: number; y1: number }, colors: Colors): void {
    const { ink, placed } = this;
    ink.fillStyle = colors.edge;
    for (const link of this.model.links) {
      const b = placed.boxes[link.to];
      const y = b.y - b.height / 2;
      if (y < view.y0 || y > view.y1 || placed.boxes[link.from].y >= b.y) continue;
      ink.beginPath();
      ink.moveTo(b.x, y);
      ink.lineTo(b.x - 3.5, y - 6.5);
      ink.lineTo(b.x + 3.5, y - 6.5);
      ink.fill();
    }
  }

  // What a box shows: the furthest of its members' states.
  private stateOf(i: number): NodeState {
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
    const bad = item.members.some((node) => this.model.notFinite.has(node));
    const x = box.x - box.width / 2;
    const y = box.y - box.height / 2;
    const [face, rim] = this.faceOf(state, item.leaf, bad, colors);
    ink.fillStyle = face;
    ink.strokeStyle = rim;
    ink.lineWidth = state === "running" ? 2.5 : 1.2;
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
    if (this.scale > 0.22) this.paintText(i, box, state, bad, colors);
  }

  private faceOf(state: NodeState, leaf: boolean, bad: boolean, colors: Colors): [string, string] {
    if (state === "running") return [colors.runningFace, colors.running];
    if (state === "ready" || state === "waiting") return [colors.readyFace, colors.ready];
    if (state === "done") return [colors.doneFace, bad ? colors.bad : colors.done];
    if (bad) return [colors.badFace, colors.bad];
    return leaf ? [colors.leafFace, colors.leaf] : [colors.face, colors.rim];
  }

  private paintText(i: number, box: Box, state: NodeState, bad: boolean, colors: Colors): void {
    const { ink } = this;
    const item = this.model.items[i];
    ink.textAlign = "center";
    ink.textBaseline = "middle";
    ink.fillStyle = colors.ink;
    ink.font = FONT;
    const mark = bad ? "⚠ " : MARKS[state] ? `${MARKS[state]} ` : "";
    ink.fillText(mark + item.label, box.x, box.y - 7, box.width - 14);
    if (this.scale < 0.45) return;
    ink.fillStyle = colors.quiet;
    ink.font = SMALL;
    ink.fillText(this.detailOf(i, state), box.x, box.y + 9, box.width - 14);
  }

  private detailOf(i: number, state: NodeState): string {
    const item = this.model.items[i];
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

  private paintTravel(colors: Colors): void {
    const step = this.replay?.backward.steps[this.position];
    if (!step) return;
    const { ink, placed } = this;
    const from = this.model.itemOf[step.node];
    if (from < 0) return;
    for (const [, to] of step.sent) {
      const end = this.model.itemOf[to];
      if (end < 0 || end === from) continue;
      const point = along(placed.boxes[from], placed.boxes[end], this.travel);
      ink.beginPath();
      ink.arc(point.x, point.y, 6, 0, 7);
      ink.fillStyle = colors.running;
      ink.fill();
      ink.strokeStyle = colors.paper;
      ink.lineWidth = 1.5;
      ink.stroke();
    }
  }

  private hit(clientX: number, clientY: number): { item: number; frame: string } {
    const bounds = this.canvas.getBoundingClientRect();
    const x = (clientX - bounds.left - this.left) / this.scale;
    const y = (clientY - bounds.top - this.top) / this.scale;
    const inside = (box: Box): boolean => Math.abs(x - box.x) <= box.width / 2 && Math.abs(y - box.y) <= box.height / 2;
    const item = this.placed.boxes.findIndex(inside);
    const frame = [...this.placed.frames].reverse().find((f) => inside(f) && y < f.y - f.height / 2 + 20);
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

  private pointerMoved(event: PointerEvent): void {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      const { item, frame } = this.hit(event.clientX, event.clientY);
      this.canvas.style.cursor = item >= 0 || frame ? "pointer" : "grab";
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

function ends(a: Box, b: Box): [number, number, number, number] {
  const down = a.y <= b.y ? 1 : -1;
  return [a.x, a.y + (down * a.height) / 2, b.x, b.y - (down * b.height) / 2];
}

function curve(ink: CanvasRenderingContext2D, a: Box, b: Box): void {
  const [x0, y0, x1, y1] = ends(a, b);
  const bend = Math.min(60, Math.abs(y1 - y0) / 2);
  ink.moveTo(x0, y0);
  ink.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
}

function along(a: Box, b: Box, t: number): { x: number; y: number } {
  const [x0, y0, x1, y1] = ends(a, b);
  const bend = Math.min(60, Math.abs(y1 - y0) / 2);
  const u = 1 - t;
  const mix = (p: number, q: number, r: number, s: number): number => u * u * u * p + 3 * u * u * t * q + 3 * u * t * t * r + t * t * t * s;
  return { x: mix(x0, x0, x1, x1), y: mix(y0, y0 + bend, y1 - bend, y1) };
}
