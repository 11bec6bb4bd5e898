// What ran when, by thread; and memory over time, with what made its peak.

import uPlot from "uplot";
import { amount, fill, h, time } from "./dom";
import { holders, name } from "./card";
import type { Model } from "./model";
import type { Colors } from "./graph";

interface Bar {
  start: number;
  end: number;
  row: number;
  kind: "forward" | "backward" | "step" | "span";
  label: string;
  node: number;
  bad: boolean;
}

const ROW = 18;
const GUTTER = 132; // for the names of threads

export class TimelineView {
  readonly element = h("div", { class: "timeline" });
  private canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": "Operations and steps of backwards over time, by thread" });
  private told = h("output", { class: "quiet" });
  private bars: Bar[] = [];
  private from = 0;
  private to: number;
  private rows: string[] = [];
  now = -1; // the time of the step that is shown

  constructor(readonly model: Model, private colors: () => Colors, private choose: (node: number) => void) {
    const { recording } = model;
    this.to = Math.max(1, recording.duration);
    recording.threads.forEach((thread) => this.rows.push(`${thread} · forward`, `${thread} · backward`));
    for (const op of recording.ops) this.bars.push({ start: op.start, end: op.end, row: 2 * op.thread, kind: "forward", label: op.name.replace(/Backward\d*$/, ""), node: op.node, bad: op.outputs.some((out) => model.isBad(model.figures(out.value))) });
    for (const span of recording.spans) this.bars.push({ ...span, row: 2 * span.thread, kind: "span", label: span.name, node: -1, bad: false });
    for (const backward of recording.backwards)
      for (const step of backward.steps)
        this.bars.push({ start: step.start, end: step.end ?? step.start, row: 2 * step.thread + 1, kind: "step", label: model.nodes[step.node].name, node: step.node, bad: model.notFinite.has(step.node) });
    const first = Math.min(...this.bars.map((bar) => bar.start), this.to);
    this.from = Math.max(0, first - (this.to - first) * 0.02);
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("click", (event) => {
      const bar = this.at(event);
      if (bar && bar.node >= 0) this.choose(bar.node);
    });
    const zoom = (factor: number) => () => this.zoom(factor, (this.from + this.to) / 2);
    const tools = h("span", { class: "tools" }, h("button", { "aria-label": "Zoom in", click: zoom(0.5) }, "+"), h("button", { "aria-label": "Zoom out", click: zoom(2) }, "−"));
    fill(this.element, h("div", { class: "bar" }, h("h3", {}, "Timeline"), this.told, tools), this.canvas, this.memory());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  private zoom(factor: number, about: number): void {
    this.from = Math.max(0, about + (this.from - about) * factor);
    this.to = Math.min(this.model.recording.duration, about + (this.to - about) * factor);
    this.draw();
  }

  private gutter(): number {
    return this.canvas.clientWidth > 600 ? GUTTER : 0;
  }

  private moment(event: MouseEvent): number {
    return this.from + ((this.to - this.from) * (event.offsetX - this.gutter())) / (this.canvas.clientWidth - this.gutter());
  }

  private wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.shiftKey) return; // the page scrolls
    event.preventDefault();
    this.zoom(Math.exp(event.deltaY * 0.002), this.moment(event));
  }

  private at(event: MouseEvent): Bar | undefined {
    const moment = this.moment(event);
    const row = Math.floor(event.offsetY / ROW);
    const slack = ((this.to - this.from) / this.canvas.clientWidth) * 2;
    return this.bars.find((bar) => bar.row === row && bar.start - slack <= moment && bar.end + slack >= moment);
  }

  private point(event: MouseEvent): void {
    const bar = this.at(event);
    this.told.value = bar ? `${bar.label}, ${time(bar.end - bar.start)}, at ${time(bar.start)}` : `${time(this.moment(event))}`;
  }

  draw(): void {
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth;
    const height = this.rows.length * ROW;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const ink = this.canvas.getContext("2d")!;
    const colors = this.colors();
    ink.scale(ratio, ratio);
    const gutter = this.gutter();
    const scale = (width - gutter) / (this.to - this.from);
    this.rows.forEach((_, row) => {
      ink.fillStyle = row % 2 ? colors.frame : colors.paper;
      ink.fillRect(0, row * ROW, width, ROW);
    });
    const faces = { forward: colors.leaf, step: colors.done, backward: colors.running, span: colors.running };
    const last: number[] = [];
    for (const bar of this.bars) {
      const x = gutter + (bar.start - this.from) * scale;
      const size = Math.max(1, (bar.end - bar.start) * scale);
      if (x + size < gutter || x > width || (size <= 1 && last[bar.row] === Math.round(x))) continue;
      last[bar.row] = Math.round(x);
      ink.fillStyle = bar.bad ? colors.bad : faces[bar.kind];
      ink.fillRect(x, bar.row * ROW + 3, Math.max(1, size - 0.5), ROW - 6);
    }
    ink.font = "11px system-ui, sans-serif";
    ink.textBaseline = "middle";
    this.rows.forEach((text, row) => {
      const wide = ink.measureText(text).width + 10;
      ink.fillStyle = row % 2 ? colors.frame : colors.paper;
      ink.globalAlpha = gutter ? 1 : 0.75;
      ink.fillRect(0, row * ROW, gutter || wide, ROW);
      ink.globalAlpha = 1;
      ink.fillStyle = colors.quiet;
      ink.fillText(text, 6, row * ROW + ROW / 2, (gutter || wide) - 8);
    });
    if (this.now >= 0) {
      ink.fillStyle = colors.running;
      ink.fillRect(gutter + (this.now - this.from) * scale, 0, 2, height);
    }
  }

  // -- memory -------------------------------------------------------------------------------------------------------

  private plot: uPlot | null = null;
  private plotBox = h("div", { class: "plot" });
  private series: [number[], number[]] = [[], []];

  private memory(): HTMLElement | null {
    const { blocks } = this.model.recording;
    if (!blocks.length) return null;
    const events: [number, number, number][] = [];
    blocks.forEach(([size, born, died], i) => {
      events.push([born, size, i]);
      if (died !== null) events.push([died, -size, i]);
    });
    events.sort((a, b) => a[0] - b[0]);
    let now = 0;
    let most = 0;
    let peakAt = 0;
    events.forEach(([moment, change], n) => {
      now += change;
      this.series[0].push(moment / 1000);
      this.series[1].push(now);
      if (now > most) [most, peakAt] = [now, n];
    });
    const alive = new Set<number>();
    for (const [, change, block] of events.slice(0, peakAt + 1)) change > 0 ? alive.add(block) : alive.delete(block);
    new ResizeObserver(() => this.drawMemory()).observe(this.plotBox);
    const when = time(events[peakAt][0]);
    return h("section", { class: "memory" }, h("h3", {}, `Memory: at most ${amount(most)}, after ${when}`), this.plotBox, h("div", { class: "columns" }, this.byLine(alive), this.byHolder(alive)));
  }

  drawMemory(): void {
    const width = this.plotBox.clientWidth;
    if (!width) return;
    const colors = this.colors();
    const axis = { stroke: colors.quiet, grid: { stroke: colors.line, width: 1 }, ticks: { stroke: colors.line, width: 1 } };
    this.plot?.destroy();
    this.plot = new uPlot(
      {
        width,
        height: 150,
        legend: { show: false },
        cursor: { y: false },
        scales: { x: { time: false } },
        axes: [
          { ...axis, values: (_, ticks) => ticks.map((tick) => time(tick * 1000)), size: 30 },
          { ...axis, values: (_, ticks) => ticks.map(amount), size: 84, incrs: [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864, 268435456, 1073741824] },
        ],
        series: [{}, { stroke: colors.leaf, fill: colors.leafFace, width: 1.5, paths: uPlot.paths.stepped!({ align: 1 }), points: { show: false } }],
      },
      this.series,
      this.plotBox,
    );
  }

  private byLine(alive: Set<number>): HTMLElement {
    const { recording } = this.model;
    const found = new Map<string, { size: number; node: number }>();
    for (const block of alive) {
      const [size, , , op, step] = recording.blocks[block];
      let [key, node] = ["there before the recording", -1];
      const made = op >= 0 ? recording.ops[op] : null;
      if (made) [key, node] = [this.line(made.place, ""), made.node];
      else if (step) {
        node = recording.backwards[step[0]].steps[step[1]].node;
        key = this.model.nodes[node].leaf ? `${name(this.model, node)}.grad` : this.line(this.model.nodes[node].place, "gradient of ");
      }
      const entry = found.get(key) ?? { size: 0, node };
      entry.size += size;
      found.set(key, entry);
    }
    return this.tableOf("At the peak, by line", [...found].map(([text, { size, node }]) => ({ text, size, node })));
  }

  private line(place: number, before: string): string {
    if (place < 0) return `${before}the program`;
    const spot = this.model.recording.places[place];
    return `${before}${spot.file.slice(spot.file.lastIndexOf("/") + 1)}:${spot.line}  ${spot.text.trim()}`;
  }

  private byHolder(alive: Set<number>): HTMLElement {
    const found = new Map<number, number>();
    let others = 0;
    for (const block of alive) {
      const [size] = this.model.recording.blocks[block];
      const keepers = holders(this.model, block);
      if (keepers.length) found.set(keepers[0], (found.get(keepers[0]) ?? 0) + size);
      else others += size;
    }
    const rows = [...found].map(([node, size]) => ({ text: `saved by ${name(this.model, node)}`, size, node }));
    if (others) rows.push({ text: "variables, gradients on their way", size: others, node: -1 });
    return this.tableOf("At the peak, by holder", rows);
  }

  private tableOf(title: string, rows: { text: string; size: number; node: number }[]): HTMLElement {
    rows.sort((a, b) => b.size - a.size);
    const body = rows.slice(0, 12).map(({ text, size, node }) =>
      h("tr", {}, h("td", { class: "right" }, amount(size)), h("td", {}, node >= 0 ? h("button", { class: "link", click: () => this.choose(node) }, text) : text)),
    );
    const more = rows.length > 12 ? h("p", { class: "quiet" }, `and ${rows.length - 12} more`) : null;
    return h("div", {}, h("h4", {}, title), h("table", {}, h("tbody", {}, ...body)), more);
  }
}
