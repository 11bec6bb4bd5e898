// Memory over time, and what made its peak: by line and by holder.

import uPlot from "uplot";
import { holders, name } from "./card";
import { amount, breakable, fill, h, time } from "./dom";
import type { Colors } from "./graph";
import type { Model } from "./model";

interface Row {
  text: string;
  size: number;
  node: number;
}

const LONGEST = 160; // signs of a row's text
const MOST = 10; // rows of a table that are shown at once

export class MemoryView {
  readonly element = h("section", { class: "memory" });
  readonly nowLine = h("i", { class: "now-line" });
  private plotBox = h("div", { class: "plot" });
  private plot: uPlot | null = null;
  private times: number[] = [];
  private sizes: number[] = [];
  private peak = { at: 0, size: 0 };

  constructor(readonly model: Model, private colors: () => Colors, private choose: (node: number) => void) {
    const alive = this.follow();
    if (!this.times.length) return;
    const title = h("h3", {}, `Memory: at most ${amount(this.peak.size)}, at ${time(this.peak.at)}`);
    fill(this.element, title, h("div", { class: "lanes" }, this.plotBox, this.nowLine), h("div", { class: "columns" }, this.byLine(alive), this.byHolder(alive)));
  }

  // Bytes that are alive at some time.
  at(moment: number): number {
    return this.sizes[this.after(moment) - 1] ?? 0;
  }

  // Adds up what is alive; returns the blocks of the moment at which that is the most.
  private follow(): Set<number> {
    const events: [number, number, number][] = [];
    this.model.recording.blocks.forEach(([size, born, died], i) => {
      events.push([born, size, i]);
      if (died !== null) events.push([died, -size, i]);
    });
    events.sort((a, b) => a[0] - b[0]);
    let now = 0;
    let last = -1;
    events.forEach(([moment, change], n) => {
      now += change;
      this.times.push(moment);
      this.sizes.push(now);
      if (now > this.peak.size) [this.peak, last] = [{ at: moment, size: now }, n];
    });
    const alive = new Set<number>();
    for (const [, change, block] of events.slice(0, last + 1)) change > 0 ? alive.add(block) : alive.delete(block);
    return alive;
  }

  draw(range: [number, number], gutter: number): void {
    const width = this.plotBox.clientWidth;
    if (!width) return;
    if (!this.plot || this.plot.width !== width || this.plot.axes[1].size !== gutter) this.make(width, range, gutter);
    this.plot!.setData(this.within(range, width), false);
    this.plot!.setScale("x", { min: range[0], max: range[1] });
  }

  // The curve in a range: what a pixel cannot show is left out, but for the most and the least of each.
  private within([from, to]: [number, number], width: number): [number[], number[]] {
    const { times, sizes } = this;
    const found: [number[], number[]] = [[], []];
    const add = (n: number): void => void (found[0].push(times[n]), found[1].push(sizes[n]));
    const first = Math.max(0, this.after(from) - 1);
    const last = Math.min(times.length, this.after(to) + 1);
    if (last - first <= 4 * width) {
      for (let n = first; n < last; n++) add(n);
      return found;
    }
    const pixel = (n: number): number => Math.floor(((times[n] - from) * width) / (to - from));
    for (let n = first; n < last; ) {
      let [most, least, end] = [n, n, n];
      for (; end < last && pixel(end) === pixel(n); end++) {
        if (sizes[end] > sizes[most]) most = end;
        if (sizes[end] < sizes[least]) least = end;
      }
      for (const kept of [...new Set([n, most, least, end - 1])].sort((a, b) => a - b)) add(kept);
      n = end;
    }
    return found;
  }

  // How many of the changes are not later than a moment.
  private after(moment: number): number {
    let [low, high] = [0, this.times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= moment) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  recolor(): void {
    this.plot?.destroy();
    this.plot = null;
  }

  private make(width: number, range: [number, number], gutter: number): void {
    const colors = this.colors();
    const axis = { stroke: colors.quiet, font: "11px system-ui, sans-serif", grid: { stroke: colors.line, width: 1 }, ticks: { show: false } };
    this.plot?.destroy();
    const most = this.peak.size * 1.08;
    const options: uPlot.Options = {
      width,
      height: 130,
      padding: [8, 0, 10, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, min: range[0], max: range[1] }, y: { range: [0, most] } },
      axes: [{ show: false }, { ...axis, size: gutter, gap: 8, splits: () => halves(most), values: (_, found) => found.map(amount) }],
      series: [{}, { stroke: colors.leaf, fill: colors.leafFace, width: 1.5, paths: uPlot.paths.stepped!({ align: 1 }), points: { show: false } }],
      hooks: { draw: [(plot) => this.mark(plot)] },
    };
    this.plot = new uPlot(options, [[], []], this.plotBox);
  }

  // The peak.
  private mark({ ctx, bbox, valToPos }: uPlot): void {
    const x = valToPos(this.peak.at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    const ratio = window.devicePixelRatio || 1;
    ctx.save();
    ctx.strokeStyle = this.colors().bad;
    ctx.lineWidth = 1.5 * ratio;
    ctx.setLineDash([4 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
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

  // A block belongs to the nodes that saved it, else to the variable that had it, else to nobody who stayed.
  private byHolder(alive: Set<number>): HTMLElement {
    const found = new Map<string, { size: number; node: number }>();
    const add = (text: string, size: number, node: number): void => {
      const entry = found.get(text) ?? { size: 0, node };
      entry.size += size;
      found.set(text, entry);
    };
    for (const block of alive) {
      const [size, , , , , variable] = this.model.recording.blocks[block];
      const [keeper] = holders(this.model, block);
      if (variable) add(variable, size, -1);
      else if (keeper !== undefined) add(`saved by ${name(this.model, keeper)}`, size, keeper);
      else add("results and gradients on their way", size, -1);
    }
    return this.tableOf("At the peak, by holder", [...found].map(([text, { size, node }]) => ({ text, size, node })));
  }

  private tableOf(title: string, rows: Row[]): HTMLElement {
    rows.sort((a, b) => b.size - a.size);
    const body = h("tbody");
    const more = h("p", { class: "more" });
    const show = (count: number): void => {
      fill(body, ...rows.slice(0, count).map((row) => this.row(row)));
      const rest = rows.length - count;
      fill(more, rest > 0 && h("button", { class: "link", click: () => show(rows.length) }, `${rest.toLocaleString("en")} more`));
    };
    show(MOST);
    return h("div", {}, h("h4", {}, title), h("table", {}, body), more);
  }

  private row({ text: whole, size, node }: Row): HTMLElement {
    const text = whole.length > LONGEST ? `${whole.slice(0, LONGEST)}…` : whole;
    const what = node >= 0 ? h("button", { class: "link", click: () => this.choose(node) }, breakable(text)) : breakable(text);
    const share = h("i", { class: "share" });
    share.style.width = `${(100 * size) / this.peak.size}%`;
    return h("tr", {}, h("td", { class: "right" }, amount(size)), h("td", {}, what, share));
  }
}

// Nothing, and two round numbers of bytes.
function halves(most: number): number[] {
  const top = 2 ** Math.floor(Math.log2(Math.max(2, most)));
  return [0, top / 2, top];
}
