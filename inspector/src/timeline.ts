// What ran when, by thread and device; under it, memory over the same time.

import { name } from "./card";
import { fill, h, time } from "./dom";
import type { Colors } from "./graph";
import { MemoryView } from "./memory";
import type { Model } from "./model";

interface Bar {
  start: number;
  end: number;
  row: number;
  kind: "forward" | "again" | "step" | "span";
  label: string;
  node: number;
  bad: boolean;
}

const ROW = 20;
const LABEL = 15; // the height of a row's name where it stands above the row
const AXIS = 20;
const LEGEND: [Bar["kind"] | "bad", string][] = [["forward", "forward"], ["again", "forward within a backward"], ["step", "backward"], ["span", "optimiser"], ["bad", "⚠ not finite"]];

export class TimelineView {
  readonly element = h("div", { class: "timeline" });
  readonly memory: MemoryView;
  private canvas = h("canvas", { role: "img", "aria-label": "Operations and steps of backwards over time, by thread" });
  private told = h("output", { class: "quiet" });
  private bars: Bar[] = [];
  rows: string[] = [];
  private full: [number, number];
  private range: [number, number];
  private dragged = 0;
  private now = -1; // the time of the step that is shown
  private nowLine = h("i", { class: "now-line" });

  constructor(readonly model: Model, private colors: () => Colors, private choose: (node: number) => void) {
    this.collect();
    const { duration } = model.recording;
    const first = this.bars.reduce((least, bar) => Math.min(least, bar.start), duration);
    this.full = [Math.max(0, first - (duration - first) * 0.01), Math.max(1, duration)];
    this.range = [...this.full];
    this.memory = new MemoryView(model, colors, choose);
    this.listen();
    const middle = (): number => (this.range[0] + this.range[1]) / 2;
    const button = (text: string, label: string, click: () => void): HTMLElement => h("button", { "aria-label": label, title: label, click }, text);
    const tools = h("span", { class: "tools" }, button("+", "Zoom into the time", () => this.zoom(0.5, middle())), button("−", "Zoom out of the time", () => this.zoom(2, middle())), button("Fit", "Show all of the time", () => this.show(this.full)));
    fill(this.element, h("div", { class: "bar" }, h("h3", {}, "Timeline"), this.legend(), this.told, tools), h("div", { class: "lanes" }, this.canvas, this.nowLine), this.memory.element);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  private collect(): void {
    const { recording } = this.model;
    const rows = new Map<string, number>();
    const rowOf = (thread: number, what: string, device: string): number => {
      const key = `${recording.threads[thread]} · ${what}${device && device !== "cpu" ? ` · ${device}` : ""}`;
      if (!rows.has(key)) rows.set(key, rows.size);
      return rows.get(key)!;
    };
    for (const op of recording.ops)
      this.bars.push({ start: op.start, end: op.end, row: rowOf(op.thread, "forward", op.device), kind: op.during ? "again" : "forward", label: op.name.replace(/Backward\d*$/, ""), node: op.node, bad: op.outputs.some((out) => this.model.isBad(this.model.figures(out.value))) });
    for (const span of recording.spans) this.bars.push({ ...span, row: rowOf(span.thread, "forward", ""), kind: "span", label: span.name, node: -1, bad: false });
    for (const backward of recording.backwards)
      for (const step of backward.steps)
        this.bars.push({ start: step.start, end: step.end ?? step.start, row: rowOf(step.thread, "backward", this.model.nodes[step.node].device), kind: "step", label: name(this.model, step.node), node: step.node, bad: this.model.notFinite.has(step.node) });
    this.rows = [...rows.keys()];
  }

  private legend(): HTMLElement {
    const there = new Set<string>(this.bars.map((bar) => bar.kind));
    if (this.bars.some((bar) => bar.bad)) there.add("bad");
    return h("ul", { class: "legend" }, ...LEGEND.filter(([kind]) => there.has(kind)).map(([kind, text]) => h("li", {}, h("i", { class: `bar-${kind}` }), text)));
  }

  private show([from, to]: [number, number]): void {
    const size = Math.min(to - from, this.full[1] - this.full[0]);
    const start = Math.min(Math.max(from, this.full[0]), this.full[1] - size);
    this.range = [start, start + size];
    this.draw();
  }

  private zoom(factor: number, about: number): void {
    const [from, to] = this.range;
    if (factor < 1 && to - from < 1) return; // a microsecond
    this.show([about + (from - about) * factor, about + (to - about) * factor]);
  }

  // Where the time begins: behind the rows' names, which stand above their rows where the page is narrow.
  private gutter(): number {
    return this.wide() ? 200 : 58;
  }

  private wide(): boolean {
    return this.canvas.clientWidth > 700;
  }

  private rowTop(row: number): number {
    return this.wide() ? row * ROW : row * (ROW + LABEL) + LABEL;
  }

  private moment(event: MouseEvent): number {
    const [from, to] = this.range;
    return from + ((to - from) * (event.offsetX - this.gutter())) / (this.canvas.clientWidth - this.gutter());
  }

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return; // the page scrolls
      event.preventDefault();
      this.zoom(Math.exp((event.deltaY || event.deltaX) * 0.002), this.moment(event));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      this.dragged = 0;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("click", (event) => {
      const bar = this.at(event);
      if (this.dragged < 5 && bar && bar.node >= 0) this.choose(bar.node);
    });
  }

  private at(event: MouseEvent): Bar | undefined {
    const moment = this.moment(event);
    const row = this.rows.findIndex((_, n) => event.offsetY >= this.rowTop(n) && event.offsetY < this.rowTop(n) + ROW);
    const slack = ((this.range[1] - this.range[0]) / this.canvas.clientWidth) * 2;
    return this.bars.find((bar) => bar.row === row && bar.start - slack <= moment && bar.end + slack >= moment);
  }

  private point(event: PointerEvent): void {
    if (event.buttons && this.canvas.hasPointerCapture(event.pointerId)) {
      this.dragged += Math.abs(event.movementX);
      const moved = (-event.movementX * (this.range[1] - this.range[0])) / (this.canvas.clientWidth - this.gutter());
      return this.show([this.range[0] + moved, this.range[1] + moved]);
    }
    const bar = this.at(event);
    this.told.value = bar ? `${bar.label}: ${time(bar.end - bar.start)}, at ${time(bar.start)}` : event.offsetX >= this.gutter() ? time(this.moment(event)) : "";
  }

  // Shows the time of a step, which nothing has to be drawn again for; -1 for none.
  mark(now: number): void {
    this.now = now;
    const [from, to] = this.range;
    for (const line of [this.nowLine, this.memory.nowLine]) {
      line.hidden = now < from || now > to;
      line.style.left = `${this.x(now, this.canvas.clientWidth)}px`;
    }
  }

  draw(): void {
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    if (!width) return;
    const bottom = this.rowTop(this.rows.length - 1) + ROW;
    this.canvas.style.height = `${bottom + AXIS}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round((bottom + AXIS) * ratio);
    const ink = this.canvas.getContext("2d")!;
    ink.scale(ratio, ratio);
    this.drawAxis(ink, width, bottom);
    this.drawBars(ink, width);
    this.drawNames(ink, width);
    this.memory.draw(this.range, this.gutter());
    this.mark(this.now);
  }

  private x(moment: number, width: number, gutter = this.gutter()): number {
    const [from, to] = this.range;
    return gutter + ((moment - from) * (width - gutter)) / (to - from);
  }

  private drawAxis(ink: CanvasRenderingContext2D, width: number, bottom: number): void {
    const colors = this.colors();
    ink.font = "11px system-ui, sans-serif";
    ink.textAlign = "center";
    ink.textBaseline = "middle";
    for (const tick of ticks(this.range, (width - this.gutter()) / 90)) {
      const x = this.x(tick, width);
      ink.fillStyle = colors.line;
      ink.fillRect(x, 0, 1, bottom);
      ink.fillStyle = colors.quiet;
      if (x > this.gutter() + 24 && x < width - 24) ink.fillText(time(tick), x, bottom + AXIS / 2 + 1);
    }
  }

  private drawBars(ink: CanvasRenderingContext2D, width: number): void {
    const colors = this.colors();
    const faces = { forward: colors.leaf, again: colors.again, step: colors.done, span: colors.running };
    const last: number[] = [];
    const gutter = this.gutter();
    const tops = this.rows.map((_, row) => this.rowTop(row) + 3);
    ink.save();
    ink.beginPath();
    ink.rect(gutter, 0, width, this.rowTop(this.rows.length));
    ink.clip();
    for (const bar of this.bars) {
      const x = this.x(bar.start, width, gutter);
      const size = Math.max(1, this.x(bar.end, width, gutter) - x);
      if (x + size < 0 || x > width || (size <= 1 && last[bar.row] === Math.round(x))) continue;
      last[bar.row] = Math.round(x);
      ink.fillStyle = bar.bad ? colors.bad : faces[bar.kind];
      ink.fillRect(x, tops[bar.row], Math.max(1, size - 0.5), ROW - 6);
    }
    ink.restore();
  }

  private drawNames(ink: CanvasRenderingContext2D, width: number): void {
    const colors = this.colors();
    ink.textAlign = "left";
    this.rows.forEach((text, row) => {
      const top = this.rowTop(row);
      ink.fillStyle = colors.line;
      ink.fillRect(0, top + ROW, width, 1);
      ink.fillStyle = colors.quiet;
      if (this.wide()) ink.fillText(text, 2, top + ROW / 2, this.gutter() - 12);
      else ink.fillText(text, 2, top - LABEL / 2 + 1, width - 8);
    });
  }
}

// Round numbers in a range, about so many.
export function ticks([from, to]: [number, number], count: number): number[] {
  const rough = (to - from) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (rough <= power ? 1 : rough <= 2 * power ? 2 : rough <= 5 * power ? 5 : 10);
  const found: number[] = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) found.push(tick);
  return found;
}
