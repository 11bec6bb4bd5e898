// Find: by words, and by the questions that people ask.

import { fill, h, shape } from "./dom";
import { name } from "./card";
import type { Model } from "./model";

const MOST = 200;

export class FindView {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
  private list = h("ul", { class: "results", "aria-live": "polite" });

  constructor(readonly model: Model, private go: (node: number) => void) {
    this.input = h("input", {
      type: "search",
      placeholder: "name, shape, module, line …",
      "aria-label": "Find nodes",
      input: () => this.search(this.input.value),
      keydown: (event: KeyboardEvent) => {
        if (event.key === "Enter") this.list.querySelector("button")?.click();
      },
    });
    const { answers } = model.recording;
    const questions: [string, () => void][] = [
      ["First non-finite", () => this.answer("first_nonfinite", "Every value that was looked at is finite.")],
      ["Largest gradient", () => this.answer("largest_gradient", "No gradient was sent.")],
      ["Most memory", () => this.answer("most_memory", "No node kept anything.")],
      ["No gradient reaches", () => this.unreached()],
      ["Unused parameters", () => this.unused()],
    ];
    const buttons = questions.map(([text, ask], i) =>
      h("button", { class: i === 0 && answers.first_nonfinite ? "ask alarm" : "ask", click: ask }, text),
    );
    this.element = h("div", { class: "find" }, this.input, h("div", { class: "asks" }, ...buttons), this.list);
  }

  answer(question: string, otherwise: string): void {
    const found = this.model.recording.answers[question];
    if (!found) return fill(this.list, h("li", {}, otherwise));
    fill(this.list, h("li", {}, h("p", {}, found.text), found.node >= 0 && this.button(found.node)));
    if (found.node >= 0) this.go(found.node);
  }

  private unreached(): void {
    const found = this.model.recording.leaves.filter((leaf) => !leaf.reached);
    this.leaves(found, "A gradient reaches every leaf.");
  }

  private unused(): void {
    const found = this.model.recording.leaves.filter((leaf) => !leaf.reached && leaf.node < 0);
    this.leaves(found, "Every parameter that a variable holds took part.");
  }

  private leaves(found: Model["recording"]["leaves"], otherwise: string): void {
    if (!found.length) return fill(this.list, h("li", {}, otherwise));
    fill(
      this.list,
      ...found.map((leaf) =>
        h("li", {}, h("strong", {}, leaf.name || "a leaf"), ` ${shape(leaf.shape)}`, h("p", {}, leaf.why || "No backward reached it."), leaf.node >= 0 && this.button(leaf.node)),
      ),
    );
  }

  search(text: string): void {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return fill(this.list);
    const { places } = this.model.recording;
    const found = this.model.used.filter((i) => {
      const node = this.model.nodes[i];
      const place = node.place >= 0 ? places[node.place] : null;
      const sizes = node.inputs[0]?.shape ?? [];
      const about = [node.name, node.variable, node.module, sizes.join("x"), `(${sizes.join(",")})`, sizes.join("×"), place ? `${place.file}:${place.line} line ${place.line} ${place.text}` : ""].join("  ").toLowerCase();
      return words.every((word) => about.includes(word));
    });
    const rows = found.slice(0, MOST).map((i) => h("li", {}, this.button(i), h("span", { class: "quiet" }, this.about(i))));
    const more = found.length > MOST ? h("li", { class: "quiet" }, `and ${found.length - MOST} more`) : null;
    fill(this.list, found.length ? null : h("li", {}, "No node matches."), ...rows, more);
  }

  // What tells a node from others of its name.
  private about(i: number): string {
    const node = this.model.nodes[i];
    const line = node.place >= 0 ? `line ${this.model.recording.places[node.place].line}` : "";
    const home = node.leaf ? "" : node.module || line;
    return ` ${shape(node.inputs[0]?.shape ?? [])}${home ? ` · ${home}` : ""}`;
  }

  private button(i: number): HTMLElement {
    return h("button", { class: "link", click: () => this.go(i) }, name(this.model, i));
  }
}
