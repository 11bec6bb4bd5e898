// Numbers that colour the graph: those that every recording has, and those that a user has laid over it.

import type { Recording } from "./document";
import { amount, number, time } from "./dom";
import type { Colors } from "./graph";

export interface Overlay {
  title: string;
  numbers: (number | null)[]; // of nodes
  ratio: boolean; // 1 is neutral
  sums: boolean; // whether a group has the sum of its nodes; else it has the most remarkable
  tell: (value: number) => string;
}

// What the page offers: time, gradients, memory, then the user's own.
export function overlaysOf(recording: Recording): Overlay[] {
  const count = recording.nodes.length;
  const [times, norms] = [new Array<number | null>(count).fill(null), new Array<number | null>(count).fill(null)];
  for (const backward of recording.backwards)
    for (const step of backward.steps) {
      if (step.end !== null) times[step.node] = (times[step.node] ?? 0) + step.end - step.start;
      const norm = step.given[0] >= 0 ? recording.values[step.given[0]].norm : null;
      if (typeof norm === "number") norms[step.node] = norm;
    }
  const saved = recording.nodes.map((node) => node.saved.reduce((sum, kept) => sum + kept.bytes, 0) || null);
  const known: Overlay[] = [
    { title: "time", numbers: times, ratio: false, sums: true, tell: time },
    { title: "|gradient|", numbers: norms, ratio: false, sums: false, tell: (value) => `‖${number(value)}‖` },
    { title: "saved bytes", numbers: saved, ratio: false, sums: true, tell: amount },
  ];
  return [...known, ...ownOverlays(recording)].filter((overlay) => overlay.numbers.some((value) => value !== null));
}

// Those that a user has laid over the recording.
export function ownOverlays(recording: Recording): Overlay[] {
  const short = (value: number): string => String(Number(value.toPrecision(3)));
  return (recording.overlays ?? []).map(({ title, unit, ratio, numbers }) => {
    return { title, numbers, ratio, sums: false, tell: (value: number) => (ratio ? `×${short(value)}` : `${short(value)} ${unit}`.trim()) };
  });
}

// The number of a box: its node's, or that of a folded group.
export function numberOf(overlay: Overlay, members: number[]): number | null {
  let found: number | null = null;
  const size = (value: number): number => (overlay.ratio ? Math.abs(Math.log(value)) : value);
  for (const node of members) {
    const value = overlay.numbers[node];
    if (value === null) continue;
    if (found === null) found = value;
    else if (overlay.sums) found += value;
    else if (size(value) > size(found)) found = value;
  }
  return found;
}

// From numbers to colours, for the boxes that there are: 0 is the plainest, 1 and -1 are the strongest.
export class Scale {
  readonly low: number;
  readonly high: number;
  private log: boolean;

  constructor(readonly overlay: Overlay, values: (number | null)[]) {
    const found = values.filter((value): value is number => value !== null);
    const positive = found.filter((value) => value > 0);
    if (overlay.ratio) {
      this.log = true;
      this.high = Math.min(16, Math.max(1.25, ...positive.map((value) => Math.max(value, 1 / value))));
      this.low = 1 / this.high;
      return;
    }
    this.log = positive.length === found.length && Math.max(...found) > 20 * Math.min(...found);
    [this.low, this.high] = [this.log ? Math.min(...found) : Math.min(0, ...found), Math.max(...found)];
  }

  place(value: number): number {
    if (this.overlay.ratio) return value > 0 ? Math.max(-1, Math.min(1, Math.log(value) / Math.log(this.high))) : -1;
    const [v, low, high] = this.log ? [value, this.low, this.high].map(Math.log) : [value, this.low, this.high];
    return high > low ? (v - low) / (high - low) : 1;
  }

  color(value: number, colors: Colors): string {
    const place = this.place(value);
    return mixed(colors.face, place < 0 ? colors.less : colors.more, Math.abs(place));
  }
}

function mixed(from: string, to: string, share: number): string {
  const parts = [1, 3, 5].map((i) => {
    const [a, b] = [from, to].map((color) => parseInt(color.slice(i, i + 2), 16));
    return Math.round(a + (b - a) * share);
  });
  return `rgb(${parts.join(" ")})`;
}
