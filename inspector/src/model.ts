// What the views ask of a recording: groups that fold, and the state of a backward after any number of steps.

import type { Backward, Figures, GraphNode, Recording } from "./document";
import { number } from "./dom";

const READABLE = 120; // boxes that people can look at
const SUMMANDS = 2; // of a sum whose elements are not known, so many of the latest are told

export type Grouping = "module" | "line" | "none";
export type NodeState = "idle" | "waiting" | "ready" | "running" | "done";

// Something that is drawn: a node, or a folded group of nodes.
export interface Item {
  id: number;
  node: number; // -1 for a group
  group: string; // the folded group, or the one the node is in
  members: number[];
  label: string;
  detail: string;
  leaf: boolean;
}

export interface Link {
  from: number;
  to: number;
  count: number;
}

export class Model {
  readonly nodes: GraphNode[];
  readonly used: number[]; // nodes that have an edge
  readonly givers: number[][]; // who sends to each node
  drawn: number[]; // of the used nodes those that are shown: all, or what the chosen backward can reach
  alone: boolean; // whether the chosen backward is shown without the others
  readonly notFinite = new Set<number>();
  readonly unreached = new Set<number>();
  grouping: Grouping = "module";
  folded = new Set<string>();
  items: Item[] = [];
  links: Link[] = [];
  itemOf: number[] = []; // node -> item
  private groups: string[] = [];
  private paths = new Map<string, string[]>(); // of a group: those around it, and itself
  private linked: Set<number>; // the used nodes
  private only: Backward | null = null; // whose graph is shown

  constructor(readonly recording: Recording) {
    this.nodes = recording.nodes;
    this.givers = this.nodes.map(() => []);
    const touched = new Set<number>();
    this.nodes.forEach((node, i) =>
      node.edges.forEach(([to]) => {
        if (to < 0) return;
        touched.add(i).add(to);
        if (this.givers[to].at(-1) !== i) this.givers[to].push(i);
      }),
    );
    for (const backward of recording.backwards) touched.add(backward.root);
    this.linked = touched;
    this.used = this.drawn = [...touched].sort((a, b) => a - b);
    this.alone = recording.backwards.length > 1 && this.used.length > READABLE;
    this.findBad();
    for (const leaf of recording.leaves) if (!leaf.reached && leaf.node >= 0) this.unreached.add(leaf.node);
    this.grouping = this.nodes.some((node) => node.module) ? "module" : "line";
    if (!this.narrow(recording.backwards[0])) this.foldToFit();
  }

  // Shows the graph of a backward if one is shown at a time, else everything; whether that is something else than before.
  narrow(backward: Backward | undefined): boolean {
    const only = this.alone && backward ? backward : null;
    if (only === this.only) return false;
    this.only = only;
    this.drawn = only ? this.behind(only.root) : this.used;
    this.foldToFit();
    return true;
  }

  // Whether a node is part of the graph, and only of that of other backwards than the one that is shown.
  hides(i: number): boolean {
    return this.itemOf[i] < 0 && this.linked.has(i);
  }

  // The number of the first backward that waited for gradients of a node; -1 where there is none.
  backwardOf(i: number): number {
    return this.recording.backwards.findIndex(({ root, dependencies }) => root === i || dependencies.some(([node]) => node === i));
  }

  private behind(root: number): number[] {
    const found = new Set([root]);
    for (const i of found) for (const [to] of this.nodes[i].edges) if (to >= 0) found.add(to);
    return [...found].sort((a, b) => a - b);
  }

  figures(number: number): Figures | null {
    return number >= 0 ? this.recording.values[number] : null;
  }

  isBad(figures: Figures | null): boolean {
    return !!figures && !!((figures.nan ?? 0) + (figures.inf ?? 0));
  }

  private findBad(): void {
    for (const backward of this.recording.backwards)
      for (const step of backward.steps)
        if ([...step.given, ...step.sent.map((sent) => sent[3])].some((v) => this.isBad(this.figures(v)))) this.notFinite.add(step.node);
    for (const op of this.recording.ops)
      if (op.node >= 0 && op.outputs.some((out) => this.isBad(this.figures(out.value)))) this.notFinite.add(op.node);
  }

  label(i: number): string {
    const node = this.nodes[i];
    if (node.leaf) {
      const around = this.path(i).at(-1);
      if (around && this.grouping === "module" && node.variable.startsWith(`${around}.`)) return short(node.variable.slice(around.length + 1));
      return short(node.variable.split(".").slice(-2).join(".") || "leaf");
    }
    return short(node.name.replace(/Backward\d*$/, ""));
  }

  // Every group that a node is in, the outermost first.
  path(i: number): string[] {
    return this.paths.get(this.groups[i]) ?? [];
  }

  allGroups(): string[] {
    return [...new Set([...this.paths.values()].flat())];
  }

  setGrouping(grouping: Grouping): void {
    this.grouping = grouping;
    this.foldToFit();
  }

  // Folds as little as makes the graph small enough to be looked at.
  foldToFit(most = READABLE): void {
    this.folded.clear();
    this.regroup();
    if (this.drawn.length <= most || this.grouping === "none") return this.rebuild();
    const all = [...this.paths.values()];
    const deepest = all.reduce((found, path) => Math.max(found, path.length), 0);
    for (let depth = deepest; depth >= 1; depth--) {
      for (const path of all) if (path.length >= depth) this.folded.add(path[depth - 1]);
      this.rebuild();
      if (this.items.length <= most) return;
    }
    if (!deepest) this.rebuild();
  }

  fold(group: string, folded: boolean): void {
    if (folded) this.folded.add(group);
    else this.folded.delete(group);
    this.rebuild();
  }

  foldAll(folded: boolean): void {
    this.folded = new Set(folded ? this.allGroups() : []);
    this.rebuild();
  }

  // Opens what hides a node.
  reveal(i: number): boolean {
    const hidden = this.path(i).filter((group) => this.folded.has(group));
    hidden.forEach((group) => this.folded.delete(group));
    if (hidden.length) this.rebuild();
    return hidden.length > 0;
  }

  private regroup(): void {
    const places = this.recording.places;
    this.groups = this.nodes.map((node) => {
      if (this.grouping === "none") return "";
      if (this.grouping === "module") return node.module;
      return node.place >= 0 ? `${places[node.place].file}:${places[node.place].line}` : "";
    });
    // A leaf stands with those that send to it.
    const shown = new Set(this.drawn);
    for (const i of this.drawn) {
      const givers = this.nodes[i].leaf ? this.givers[i].filter((giver) => shown.has(giver)) : [];
      if (givers.length) this.groups[i] = this.common(givers);
    }
    this.findPaths();
  }

  // The innermost group that some nodes are in, all of them.
  private common(nodes: number[]): string {
    let found = this.groups[nodes[0]];
    for (const i of nodes) {
      const other = this.groups[i];
      while (found && other !== found && !(this.grouping === "module" && other.startsWith(`${found}.`))) {
        found = this.grouping === "module" ? found.slice(0, Math.max(0, found.lastIndexOf("."))) : "";
      }
    }
    return found;
  }

  // The groups around each group. One of a single node is none: it would hide nothing and say nothing.
  private findPaths(): void {
    this.paths.clear();
    const sizes = new Map<string, number>();
    for (const i of this.drawn) {
      const group = this.groups[i];
      if (!group) continue;
      if (!this.paths.has(group)) {
        const parts = this.grouping === "module" ? group.split(".") : [group];
        this.paths.set(group, parts.map((_, n) => parts.slice(0, n + 1).join(".")));
      }
      for (const part of this.paths.get(group)!) sizes.set(part, (sizes.get(part) ?? 0) + 1);
    }
    for (const [group, path] of this.paths) this.paths.set(group, path.filter((part) => sizes.get(part)! > 1));
  }

  private rebuild(): void {
    this.items = [];
    this.links = [];
    this.itemOf = this.nodes.map(() => -1);
    const groupItems = new Map<string, Item>();
    for (const i of this.drawn) {
      const path = this.path(i);
      const hiding = path.find((group) => this.folded.has(group));
      if (hiding !== undefined) {
        let item = groupItems.get(hiding);
        if (!item) {
          item = { id: this.items.length, node: -1, group: hiding, members: [], label: this.groupLabel(hiding, path[path.indexOf(hiding) - 1]), detail: "", leaf: false };
          groupItems.set(hiding, item);
          this.items.push(item);
        }
        item.members.push(i);
        this.itemOf[i] = item.id;
      } else {
        const node = this.nodes[i];
        this.itemOf[i] = this.items.length;
        const sizes = node.inputs[0]?.shape ?? [];
        const detail = `${sizes.length ? sizes.join("×") : "scalar"}${node.variable && !node.leaf ? ` · ${short(node.variable)}` : ""}`;
        this.items.push({ id: this.items.length, node: i, group: path.at(-1) ?? "", members: [i], label: this.label(i), detail, leaf: node.leaf });
      }
    }
    for (const item of groupItems.values()) item.detail = `${item.members.length.toLocaleString("en")} nodes`;
    const seen = new Map<string, Link>();
    for (const i of this.drawn)
      for (const [to] of this.nodes[i].edges) {
        if (to < 0) continue;
        const from = this.itemOf[i];
        const end = this.itemOf[to];
        if (from === end || end < 0) continue;
        const key = `${from} ${end}`;
        const link = seen.get(key);
        if (link) link.count++;
        else {
          const made = { from, to: end, count: 1 };
          seen.set(key, made);
          this.links.push(made);
        }
      }
  }

  // A group's name as it fits a box, without that of the group `around` it.
  groupLabel(group: string, around = ""): string {
    return short(this.groupName(group, around));
  }

  groupName(group: string, around = ""): string {
    if (this.grouping === "line") {
      const [file, line] = [group.slice(0, group.lastIndexOf(":")), group.slice(group.lastIndexOf(":") + 1)];
      const text = this.recording.files[file]?.lines[Number(line) - (this.recording.files[file]?.first ?? 1)]?.trim() ?? "";
      return text || group;
    }
    return around && group.startsWith(`${around}.`) ? group.slice(around.length + 1) : group;
  }
}

// A name of any length as one that fits a box.
export const short = (text: string): string => (text.length > 34 ? `${text.slice(0, 33)}…` : text);

// The sum of some gradients as text. A tensor's own elements are in a recording if they are few.
function summed(parts: Figures[]): string {
  const columns = parts.map((part) => part.values?.map(Number));
  if (columns.every((values) => values?.every(Number.isFinite))) {
    const sums = columns[0]!.map((_, i) => columns.reduce((sum, values) => sum + values![i], 0));
    return parts[0].shape.length ? `[${sums.map(number).join(", ")}]` : number(sums[0]);
  }
  const last = parts.slice(-SUMMANDS).map(({ norm }) => `‖${typeof norm === "number" ? Number(norm.toPrecision(3)) : number(norm)}‖`);
  return (parts.length > SUMMANDS ? "… + " : "") + last.join(" + ");
}

// One backward, as it stood before each of its steps.
export class Replay {
  readonly runAt = new Map<number, number>();
  private arrivals = new Map<number, number[]>(); // node -> the steps that send to it, in order
  private expected = new Map<number, number>();
  readonly freed: number[] = [0];
  readonly inBackward: Set<number>;

  constructor(readonly model: Model, readonly backward: Backward) {
    this.inBackward = new Set(backward.dependencies.map(([node]) => node));
    backward.dependencies.forEach(([node, count]) => this.expected.set(node, count));
    backward.steps.forEach((step, i) => {
      this.runAt.set(step.node, i);
      this.freed.push(this.freed[i] + step.freed);
      for (const [, to] of step.sent) {
        const list = this.arrivals.get(to);
        if (list) list.push(i);
        else this.arrivals.set(to, [i]);
      }
    });
  }

  get length(): number {
    return this.backward.steps.length;
  }

  arrived(node: number, position: number): number {
    const list = this.arrivals.get(node);
    if (!list) return 0;
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // What has come to a node so far, by its inputs: the sums' elements where all of them are known, else their parts' norms.
  sums(node: number, position: number): string {
    const found = new Map<number, Figures[]>();
    const steps = new Set((this.arrivals.get(node) ?? []).slice(0, this.arrived(node, position)));
    for (const i of steps)
      for (const [, to, input, value] of this.backward.steps[i].sent) {
        const figures = this.model.figures(value);
        if (to !== node || !figures) continue;
        const list = found.get(input);
        if (list) list.push(figures);
        else found.set(input, [figures]);
      }
    return [...found.values()].map(summed).join("; ");
  }

  awaited(node: number): number {
    return this.expected.get(node) ?? 0;
  }

  state(node: number, position: number): NodeState {
    const at = this.runAt.get(node);
    if (at !== undefined && at < position) return "done";
    if (at === position) return "running";
    if (at === undefined && !this.inBackward.has(node)) return "idle";
    if (node === this.backward.root) return "ready";
    const arrived = this.arrived(node, position);
    if (!arrived) return "idle";
    // What ran later had everything once its last gradient came; what never ran waits for ever.
    const all = this.arrivals.get(node)!.length;
    return at !== undefined && arrived === all ? "ready" : "waiting";
  }

  // The nodes that are ready and not yet running, the next to run first: leaves, then what the forward did last.
  queue(position: number): number[] {
    const found: number[] = [];
    for (const node of this.runAt.keys()) if (this.state(node, position) === "ready") found.push(node);
    const priority = (node: number): number => (this.model.nodes[node].leaf ? Infinity : this.model.nodes[node].sequence_nr);
    return found.sort((a, b) => (priority(b) === priority(a) ? this.runAt.get(a)! - this.runAt.get(b)! : priority(b) - priority(a)));
  }
}
