// The program's source, with the operations that each line made.

import { fill, h } from "./dom";
import type { Model } from "./model";

export class CodeView {
  readonly element = h("div", { class: "sources" });
  private rows = new Map<string, HTMLElement>();

  constructor(readonly model: Model, private choose: (nodes: number[]) => void) {
    const made = new Map<string, number[]>();
    model.nodes.forEach((node, i) => {
      if (node.place < 0) return;
      const place = model.recording.places[node.place];
      const key = `${place.file}:${place.line}`;
      const list = made.get(key);
      if (list) list.push(i);
      else made.set(key, [i]);
    });
    const parts = Object.entries(model.recording.files).map(([name, file]) => {
      const code = h("pre", { class: "code whole" });
      file.lines.forEach((text, n) => {
        const key = `${name}:${file.first + n}`;
        const nodes = made.get(key);
        const row = h("span", { class: nodes ? "line made" : "line" }, h("i", {}, String(file.first + n)), text || " ");
        if (nodes) {
          const bad = nodes.some((i) => model.notFinite.has(i));
          row.append(h("button", { class: bad ? "count bad" : "count", "aria-label": `${nodes.length} nodes of line ${file.first + n}`, click: () => this.choose(nodes) }, `${bad ? "⚠ " : ""}${nodes.length}`));
        }
        this.rows.set(key, row);
        code.append(row);
      });
      return h("details", { open: true }, h("summary", {}, name), code);
    });
    fill(this.element, ...parts);
  }

  show(place: number): void {
    this.element.querySelectorAll(".here").forEach((row) => row.classList.remove("here"));
    if (place < 0) return;
    const spot = this.model.recording.places[place];
    const row = this.rows.get(`${spot.file}:${spot.line}`);
    row?.classList.add("here");
    row?.scrollIntoView({ block: "center" });
  }
}
