// A node's card: what it is, where it was made, what it kept, what went through it.

import type { Figures, Step } from "./document";
import { amount, exact, fill, h, number, shape, svg, time } from "./dom";
import type { Model } from "./model";
import { ownOverlays } from "./overlay";

export interface Links {
  node: (i: number) => void;
  code: (place: number) => void;
  step: (backward: number, step: number) => void;
}

export function card(model: Model, i: number, links: Links): HTMLElement {
  const node = model.nodes[i];
  const op = node.op >= 0 ? model.recording.ops[node.op] : null;
  const parts: (HTMLElement | null)[] = [
    h("h2", {}, node.leaf ? node.variable || "a leaf" : node.variable ? `${node.variable} = ${node.name}` : node.name),
    node.formula ? h("p", { class: "formula" }, node.formula) : null,
    facts([
      ["node", node.leaf ? "AccumulateGrad: fills .grad" : node.name],
      ["shape", `${shape(node.inputs[0]?.shape ?? [])} · ${node.inputs[0]?.dtype ?? ""}`],
      ["module", node.module],
      ["device", node.device && node.device !== "cpu" ? node.device : ""],
      ["forward took", op ? time(op.end - op.start) : ""],
      ["priority", node.leaf ? "before everything else" : `sequence number ${node.sequence_nr}`],
      ["hooks", node.hooks.join(", ")],
      ...ownOverlays(model.recording).map((overlay): [string, string] => [overlay.title, overlay.numbers[i] === null ? "" : overlay.tell(overlay.numbers[i]!)]),
    ]),
    source(model, node.place, links),
    op ? outputs(model, op.outputs.map((out) => model.figures(out.value))) : null,
    ...runs(model, i, links),
    saved(model, i, links),
    neighbours(model, i, links),
    why(model, i),
  ];
  return h("article", { class: "card" }, ...parts);
}

function facts(rows: [string, string][]): HTMLElement {
  const list = h("dl");
  for (const [name, text] of rows) if (text) list.append(h("dt", {}, name), h("dd", {}, text));
  return list;
}

export function source(model: Model, place: number, links: Links): HTMLElement | null {
  if (place < 0) return null;
  const spot = model.recording.places[place];
  const file = model.recording.files[spot.file];
  const code = h("pre", { class: "code" });
  for (let line = spot.line - 2; line <= spot.line + 2; line++) {
    const text = file?.lines[line - file.first];
    if (text === undefined) continue;
    const row = h("span", { class: line === spot.line ? "line here" : "line" }, h("i", {}, String(line)));
    if (line === spot.line && spot.start >= 0 && spot.text === text) {
      row.append(text.slice(0, spot.start), h("mark", {}, text.slice(spot.start, spot.end)), text.slice(spot.end));
    } else row.append(text);
    code.append(row);
  }
  const go = h("button", { class: "link", click: () => links.code(place) }, `${spot.file}:${spot.line}`);
  return h("section", {}, h("h3", {}, "Made by ", go), code);
}

function outputs(model: Model, values: (Figures | null)[]): HTMLElement | null {
  const shown = values.filter((value): value is Figures => !!value);
  if (!shown.length) return null;
  return h("section", {}, h("h3", {}, "Value"), ...shown.map((value) => figures(value, model.isBad(value))));
}

// Each time that a backward ran the node.
function runs(model: Model, i: number, links: Links): (HTMLElement | null)[] {
  const found: HTMLElement[] = [];
  model.recording.backwards.forEach((backward, b) =>
    backward.steps.forEach((step, s) => {
      if (step.node === i && found.length < 4) found.push(run(model, b, s, step, links));
    }),
  );
  return found;
}

function run(model: Model, b: number, s: number, step: Step, links: Links): HTMLElement {
  const node = model.nodes[step.node];
  const several = model.recording.backwards.length > 1;
  const go = h("button", { class: "link", click: () => links.step(b, s) }, `step ${s + 1}${several ? ` of backward ${b + 1}` : ""}`);
  const took = step.end === null ? "did not end" : time(step.end - step.start);
  const parts: (HTMLElement | null)[] = [
    h("h3", {}, "Ran as ", go),
    facts([
      ["took", `${took}, on ${model.recording.threads[step.thread]}`],
      ["hooks run", step.hooks.join(", ")],
      ["captured", step.captured.length ? `as result ${step.captured.join(", ")}` : ""],
      ["freed", step.freed ? amount(step.freed) : ""],
    ]),
  ];
  step.given.forEach((value, nr) => {
    const told = model.figures(value);
    const arrivals = arrivalsAt(model, b, step.node, nr);
    const title = `Gradient in${step.given.length > 1 ? ` ${nr}` : ""}${arrivals > 1 ? `, the sum of ${arrivals}` : ""}`;
    if (told) parts.push(h("h4", {}, title), figures(told, model.isBad(told)));
  });
  if (!node.leaf)
    for (const [index, to, , value] of step.sent) {
      const told = model.figures(value);
      const end = h("button", { class: "link", click: () => links.node(to) }, name(model, to));
      parts.push(h("h4", {}, `Gradient out ${index} to `, end));
      parts.push(told ? figures(told, model.isBad(told)) : h("p", { class: "quiet" }, "none"));
    }
  const grad = model.figures(step.grad);
  if (grad) parts.push(h("h4", {}, ".grad afterwards"), h("div", { class: "grad" }, figures(grad, model.isBad(grad))));
  return h("section", {}, ...parts);
}

function arrivalsAt(model: Model, b: number, node: number, nr: number): number {
  let count = 0;
  for (const step of model.recording.backwards[b].steps)
    for (const [, to, input, value] of step.sent) if (to === node && input === nr && value >= 0) count++;
  return count;
}

function saved(model: Model, i: number, links: Links): HTMLElement | null {
  const node = model.nodes[i];
  if (!node.saved.length) return null;
  const rows = node.saved.map((kept) => {
    const others = kept.block < 0 ? [] : holders(model, kept.block).filter((j) => j !== i);
    const also = others.slice(0, 4).map((j) => h("button", { class: "link", click: () => links.node(j) }, name(model, j)));
    return h(
      "tr",
      {},
      h("td", {}, kept.name),
      h("td", {}, shape(kept.shape)),
      h("td", { class: "right" }, amount(kept.bytes)),
      h("td", {}, ...also, others.length > 4 ? `and ${others.length - 4} more` : ""),
    );
  });
  const head = h("tr", {}, ...["saved", "shape", "size", "also held by"].map((text) => h("th", { class: text === "size" ? "right" : "" }, text)));
  return h("section", {}, h("h3", {}, "Kept for backward"), h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)));
}

const held = new WeakMap<Model, Map<number, number[]>>();

export function holders(model: Model, block: number): number[] {
  let known = held.get(model);
  if (!known) {
    known = new Map();
    model.nodes.forEach((node, i) => {
      for (const kept of node.saved) {
        const list = known!.get(kept.block);
        if (!list) known!.set(kept.block, [i]);
        else if (!list.includes(i)) list.push(i);
      }
    });
    held.set(model, known);
  }
  return known.get(block) ?? [];
}

function neighbours(model: Model, i: number, links: Links): HTMLElement | null {
  const button = (j: number): HTMLElement => h("button", { class: "link", click: () => links.node(j) }, name(model, j));
  const to = [...new Set(model.nodes[i].edges.map(([end]) => end).filter((end) => end >= 0))];
  const from = model.givers[i];
  if (!to.length && !from.length) return null;
  const list = (ends: number[]): HTMLElement => h("dd", {}, ...ends.slice(0, 12).map(button), ends.length > 12 ? ` and ${ends.length - 12} more` : "");
  const made = h("dl");
  if (from.length) made.append(h("dt", {}, "gets from"), list(from));
  if (to.length) made.append(h("dt", {}, "sends to"), list(to));
  return h("section", {}, h("h3", {}, "Edges"), made);
}

function why(model: Model, i: number): HTMLElement | null {
  const leaf = model.recording.leaves.find((found) => found.node === i && !found.reached);
  return leaf ? h("section", {}, h("h3", {}, "No gradient"), h("p", {}, leaf.why || "No backward reached it.")) : null;
}

export function name(model: Model, i: number): string {
  const node = model.nodes[i];
  if (node.leaf) return node.variable || "leaf";
  return node.variable ? `${node.variable} (${model.label(i)})` : node.name;
}

// A value: all of a small one, else norm, extremes, zeros and a histogram.
export function figures(told: Figures, bad: boolean): HTMLElement {
  const box = h("div", { class: "figures" });
  const line: string[] = [];
  if (told.size > 1 || !told.values) {
    if (told.norm !== undefined) line.push(`norm ${number(told.norm)}`);
    if (told.min !== undefined) line.push(told.min === told.max ? `all ${number(told.min)}` : `${number(told.min)} … ${number(told.max)}`);
    if (told.zeros) line.push(`${(100 * told.zeros).toFixed(told.zeros < 0.1 ? 1 : 0)} % zeros`);
  }
  if (bad) box.append(h("strong", { class: "bad" }, `⚠ ${told.nan ? `${told.nan} NaN` : ""}${told.nan && told.inf ? ", " : ""}${told.inf ? `${told.inf} infinite` : ""}`));
  if (line.length) box.append(h("span", {}, line.join(" · ")));
  if (told.values) {
    const text = told.values.map(exact).join(", ");
    box.append(h("code", { class: "values" }, told.shape.length ? `[${text}]` : text));
  } else if (told.bars && told.bars.length > 1) box.append(histogram(told));
  if (told.sampled) box.append(h("span", { class: "quiet" }, `from a sample of ${told.sampled.toLocaleString("en")} of ${told.size.toLocaleString("en")}`));
  return box;
}

function histogram(told: Figures): SVGElement {
  const bars = told.bars!;
  const most = Math.max(...bars);
  const picture = svg("svg", { viewBox: `0 0 ${bars.length * 10} 36`, class: "histogram", role: "img", "aria-label": `histogram from ${number(told.min)} to ${number(told.max)}` });
  bars.forEach((count, i) => {
    const height = count ? Math.max(1, (34 * count) / most) : 0;
    picture.append(svg("rect", { x: i * 10 + 1, y: 35 - height, width: 8, height }));
  });
  return picture;
}

export function emptyCard(element: HTMLElement, something: boolean): void {
  const choose = "Choose a node in the graph, a line of the code, or a bar of the timeline.";
  fill(element, h("p", { class: "quiet hint" }, something ? choose : "Nothing was recorded: no operation ran on a tensor while the recording was on."));
}
