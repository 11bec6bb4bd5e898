// The page: the graph with its replay, a panel of cards, code and questions, and the timeline, kept in step.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { card, emptyCard, name } from "./card";
import { CodeView } from "./code";
import { read, type Recording } from "./document";
import { amount, breakable, exact, fill, h, number, time } from "./dom";
import { FindView } from "./find";
import { GraphView, MARKS, type Colors } from "./graph";
import { Model, Replay, type Grouping } from "./model";
import { overlaysOf, type Overlay } from "./overlay";
import { TimelineView } from "./timeline";

const NAMES = ["paper", "frame", "ink", "quiet", "line", "edge", "accent", "face", "rim", "leafFace", "leaf", "runningFace", "running", "readyFace", "ready", "doneFace", "done", "badFace", "bad", "again", "more", "less"];
const DARK = matchMedia("(prefers-color-scheme: dark)");
const LISTED = 40; // rows of the tables that change with each step
const COUNTED = new Set(["priority", "arrived"]); // columns of numbers
const SPEEDS = [0.25, 0.5, 1, 2, 5, 20];

class Page {
  private model: Model;
  private graph: GraphView;
  private timeline: TimelineView;
  private code: CodeView;
  private find: FindView;
  private replay: Replay | null = null;
  private backward = 0;
  private position = 0;
  private playing = false;
  private speed = 1;
  private colors: Colors = {};
  private panel = h("div", { class: "panel", role: "tabpanel", id: "panel", tabindex: 0 });
  private slider = h("input", { type: "range", min: 0, step: 1, id: "slider", "aria-label": "Step of the backward", input: () => this.go(Number(this.slider.value)) });
  private counter = h("output", { id: "counter" });
  private status = h("div", { class: "status", "aria-live": "polite" });
  private playButton = h("button", { id: "play", click: () => this.play(!this.playing) }, "▶");
  private tabs = new Map<string, HTMLButtonElement>();
  private nodeCard = h("div");
  private replayCard = h("div", { class: "state" });
  private tab = "node";
  private overlays: Overlay[];
  private legendBox = h("div");

  constructor(private recording: Recording, private root: HTMLElement) {
    this.model = new Model(recording);
    this.overlays = overlaysOf(recording);
    this.setTheme(DARK.matches ? "dark" : "light");
    this.graph = new GraphView(this.model, () => this.colors);
    this.timeline = new TimelineView(this.model, () => this.colors, (node) => this.select(node));
    this.code = new CodeView(this.model, (nodes) => this.select(nodes[nodes.length - 1]));
    this.find = new FindView(this.model, (node) => this.reveal(node));
    this.graph.onSelect = (node) => this.select(node);
    this.graph.onFold = (group) => {
      this.model.fold(group, !this.model.folded.has(group));
      this.relayout();
    };
    emptyCard(this.nodeCard, recording.ops.length + recording.backwards.length > 0);
    this.build();
    this.begin();
    document.addEventListener("keydown", (event) => this.key(event));
    DARK.addEventListener("change", () => this.recolor(DARK.matches ? "dark" : "light"));
    let before = "";
    window.addEventListener("beforeprint", () => {
      before = document.documentElement.dataset.theme!;
      this.recolor("light");
      this.graph.print(true);
    });
    window.addEventListener("afterprint", () => {
      this.recolor(before);
      this.graph.print(false);
    });
  }

  // What is seen first: what went wrong, else the end of the first backward.
  private begin(): void {
    const { answers, backwards, failure } = this.recording;
    const failed = backwards.findIndex((backward) => backward.error);
    this.choose(Math.max(0, failed));
    const bad = answers.first_nonfinite;
    this.show(bad || failure ? "find" : "node");
    if (bad) this.find.answer("first_nonfinite", "");
    const failing = backwards[failed]?.failing ?? -1;
    const first = backwards[0]?.root ?? this.model.used.find((i) => !this.model.givers[i].length) ?? -1;
    const start = bad && bad.node >= 0 ? bad.node : failing >= 0 ? backwards[failed].steps[failing].node : first;
    if (start >= 0) this.select(start, false);
    if (failing >= 0) this.go(failing, false);
    this.graph.fit();
    if (start >= 0) this.graph.center(start, false);
  }

  // -- parts of the page ----------------------------------------------------------------------------------------------

  private build(): void {
    fill(this.root, this.header(), h("main", {}, h("section", { class: "stage" }, this.tools(), this.graph.canvas, this.legendBox, this.player()), h("aside", {}, this.tabBar(), this.panel)), this.timeline.element, this.footer());
    // What somebody has laid over a recording is what they want to see first.
    const own = this.recording.overlays?.[0]?.title;
    this.color(this.overlays.findIndex((overlay) => overlay.title === own));
    this.graph.resize();
    this.graph.fit();
  }

  private header(): HTMLElement {
    const r = this.recording;
    const steps = r.backwards.reduce((sum, backward) => sum + backward.steps.length, 0);
    const count = (n: number, what: string): string => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
    const about = [count(r.ops.length, "operation"), count(r.backwards.length, "backward"), count(steps, "step"), time(r.duration)].map((part) => part.replaceAll(" ", "\u00a0")).join(" · ");
    const theme = h("button", { id: "theme", "aria-label": "Light or dark", title: "Light or dark (t)", click: () => this.theme() }, "◐");
    const wrong = r.failure ?? r.backwards.find((backward) => backward.error)?.error;
    const failure = wrong ? h("p", { class: "failure" }, `⚠ ${wrong}`) : null;
    return h("header", {}, h("div", {}, h("h1", {}, r.title), h("p", { class: "quiet" }, about)), theme, failure);
  }

  private tools(): HTMLElement {
    const group = h("select", { id: "grouping", "aria-label": "Group by", change: () => this.regroup(group.value as Grouping) });
    for (const [value, text] of [["module", "by module"], ["line", "by line"], ["none", "no groups"]]) group.append(h("option", { value, selected: this.model.grouping === value }, text));
    const button = (id: string, text: string, label: string, click: () => void): HTMLElement => h("button", { id, title: label, "aria-label": label, click }, text);
    const refold = (folded: boolean) => () => {
      this.model.foldAll(folded);
      this.relayout();
      this.graph.fit();
    };
    const scope = h("select", { id: "scope", "aria-label": "Show", change: () => this.narrow(scope.value === "one") });
    for (const [value, text] of [["one", "one backward"], ["all", "all backwards"]]) scope.append(h("option", { value, selected: (value === "one") === this.model.alone }, text));
    const color = h("select", { id: "coloring", "aria-label": "Color by", change: () => this.color(Number(color.value)) }, h("option", { value: -1 }, "color: replay"));
    this.overlays.forEach((overlay, i) => color.append(h("option", { value: i }, `color: ${overlay.title}`)));
    return h(
      "div",
      { class: "tools", role: "toolbar", "aria-label": "Graph" },
      group,
      this.recording.backwards.length > 1 && scope,
      this.overlays.length > 0 && color,
      button("fold", "Fold", "Fold all groups", refold(true)),
      button("unfold", "Unfold", "Unfold all groups", refold(false)),
      button("in", "+", "Zoom in (+)", () => this.graph.zoom(1.3)),
      button("out", "−", "Zoom out (−)", () => this.graph.zoom(1 / 1.3)),
      button("fit", "Fit", "Fit the graph (0)", () => this.graph.fit()),
    );
  }

  private legend(): HTMLElement {
    const entry = (look: string, mark: string, text: string): HTMLElement => h("li", {}, h("i", { class: look }, mark), text);
    const bad = this.model.notFinite.size > 0;
    const runs = this.recording.backwards.length > 0;
    return h(
      "ul",
      { class: "legend", "aria-label": "What the graph's signs say" },
      entry("box-leaf", "", "leaf"),
      runs && entry("box-waiting", MARKS.waiting, "sum under way"),
      runs && entry("box-ready", MARKS.ready, "ready"),
      runs && entry("box-running", MARKS.running, "runs"),
      runs && entry("box-done", MARKS.done, "has run"),
      bad && entry("box-bad", "⚠", "not finite"),
      this.model.allGroups().length > 0 && entry("box-group", "▸", "folded group"),
    );
  }

  // Colors the graph by an overlay; -1: by the replay.
  private color(chosen: number): void {
    this.graph.color(this.overlays[chosen] ?? null);
    const select = this.root.querySelector<HTMLSelectElement>("#coloring");
    if (select) select.value = String(chosen);
    fill(this.legendBox, this.graph.scale ? this.scaleLegend() : this.legend());
  }

  // Other boxes are shown, and the numbers of groups may be larger.
  private relayout(): void {
    this.graph.relayout();
    if (this.graph.scale) fill(this.legendBox, this.scaleLegend());
  }

  private scaleLegend(): HTMLElement {
    const { overlay, low, high } = this.graph.scale!;
    const bar = h("i", { class: overlay.ratio ? "ramp ratio" : "ramp" });
    return h("ul", { class: "legend", "aria-label": "What the colors say" }, h("li", {}, overlay.title), h("li", {}, overlay.tell(low), bar, overlay.tell(high)), h("li", {}, h("i", { class: "box-none" }, ""), "no number"));
  }

  private regroup(grouping: Grouping): void {
    this.model.setGrouping(grouping);
    this.relayout();
    this.graph.fit();
  }

  // Shows the chosen backward's graph alone, or those of all.
  private narrow(alone: boolean): void {
    this.model.alone = alone;
    const scope = this.root.querySelector<HTMLSelectElement>("#scope");
    if (scope) scope.value = alone ? "one" : "all";
    if (!this.model.narrow(this.replay?.backward)) return;
    this.relayout();
    this.graph.fit();
  }

  private player(): HTMLElement {
    const button = (id: string, text: string, label: string, click: () => void): HTMLElement => h("button", { id, title: label, "aria-label": label, click }, text);
    const which = h("select", { id: "backward", "aria-label": "Backward", change: () => this.choose(Number(which.value), true) });
    this.recording.backwards.forEach((backward, i) => {
      const place = backward.place >= 0 ? this.recording.places[backward.place] : null;
      const inside = backward.outer >= 0 ? " (inner)" : "";
      which.append(h("option", { value: i }, `backward ${i + 1}${inside}${place ? `, line ${place.line}` : ""}`));
    });
    const speed = h("select", { id: "speed", "aria-label": "Speed", change: () => (this.speed = Number(speed.value)) });
    for (const value of SPEEDS) speed.append(h("option", { value, selected: value === 1 }, `${value}×`));
    this.playButton.setAttribute("aria-label", "Play");
    this.playButton.title = "Play (space)";
    const bar = h("div", { class: "player", role: "toolbar", "aria-label": "Replay" }, button("first", "|◀", "To the start (Home)", () => this.go(0)), button("back", "‹", "One step back (←)", () => this.go(this.position - 1)), this.playButton, button("next", "›", "One step (→)", () => this.go(this.position + 1)), button("last", "▶|", "To the end (End)", () => this.go(Infinity)), this.slider, this.counter, speed, which);
    return h("div", { class: "replay" }, bar, this.status);
  }

  private tabBar(): HTMLElement {
    const bar = h("div", { class: "tabs", role: "tablist" });
    for (const [id, text] of [["node", "Node"], ["replay", "Replay"], ["code", "Code"], ["find", "Find"]]) {
      const tab = h("button", { role: "tab", id: `tab-${id}`, "aria-controls": "panel", click: () => this.show(id) }, text);
      this.tabs.set(id, tab);
      bar.append(tab);
    }
    bar.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      const ids = [...this.tabs.keys()];
      const next = ids[(ids.indexOf(this.tab) + (event.key === "ArrowRight" ? 1 : ids.length - 1)) % ids.length];
      this.show(next);
      this.tabs.get(next)!.focus();
      event.stopPropagation();
    });
    return bar;
  }

  private show(tab: string): void {
    this.tab = tab;
    for (const [id, button] of this.tabs) {
      button.setAttribute("aria-selected", String(id === tab));
      button.tabIndex = id === tab ? 0 : -1;
    }
    this.panel.setAttribute("aria-labelledby", `tab-${tab}`);
    const content = { node: this.nodeCard, replay: this.replayCard, code: this.code.element, find: this.find.element }[tab]!;
    fill(this.panel, content);
    if (tab === "code" && this.graph.selected >= 0) this.code.show(this.model.nodes[this.graph.selected].place);
  }

  private footer(): HTMLElement {
    const { limits, versions } = this.recording;
    const left = Object.entries(limits).filter(([what, n]) => what.endsWith("left_out") && n).map(([what, n]) => `${Number(n).toLocaleString("en")} ${what.replace("_left_out", "")}`);
    const note = left.length ? `Left out beyond the limit of ${Number(limits.limit).toLocaleString("en")}: ${left.join(", ")}. ` : "";
    const count = this.recording.values.filter((value) => value.sampled).length;
    const sampled = count ? `${count.toLocaleString("en")} of ${this.recording.values.length.toLocaleString("en")} values were looked at by a sample. ` : "";
    const keys = "Keys: space plays, ← → step, Home End, + − 0 zoom, ↑ ↓ along edges, f folds, / finds, t changes the theme.";
    return h("footer", { class: "quiet" }, note + sampled, keys, ` retrograd ${versions.retrograd}, Python ${versions.python}, NumPy ${versions.numpy}.`);
  }

  // -- what is shown --------------------------------------------------------------------------------------------------

  private select(node: number, open = true): void {
    if (this.model.hides(node)) this.goToGraphOf(node);
    if (this.model.reveal(node)) this.relayout();
    this.graph.selected = node;
    this.graph.center(node, false);
    this.graph.draw();
    fill(this.nodeCard, card(this.model, node, {
      node: (i) => this.select(i),
      code: (place) => {
        this.show("code");
        this.code.show(place);
      },
      step: (b, s) => {
        this.choose(b);
        this.go(s);
      },
    }));
    if (open) this.show(this.tab === "code" ? "code" : "node");
    if (open) this.panel.scrollTop = 0;
  }

  // Goes to the backward that a node is part of, or shows all graphs where it is part of none.
  private goToGraphOf(node: number): void {
    const found = this.model.backwardOf(node);
    if (found >= 0) this.choose(found);
    if (this.model.hides(node)) this.narrow(false);
  }

  // Shows a node that was found; on a narrow page the graph may be above what is seen.
  private reveal(node: number): void {
    this.select(node, false);
    if (this.find.element.contains(document.activeElement)) this.graph.canvas.scrollIntoView({ block: "nearest" });
  }

  // Replays a backward; its root is chosen, if that is wanted, where the node that was chosen before is not shown.
  private choose(backward: number, moves = false): void {
    const found = this.recording.backwards[backward];
    this.play(false);
    this.backward = backward;
    this.replay = found ? new Replay(this.model, found) : null;
    this.graph.replay = this.replay;
    this.slider.max = String(this.replay?.length ?? 0);
    const which = this.root.querySelector<HTMLSelectElement>("#backward");
    if (which) which.value = String(backward);
    this.root.classList.toggle("no-backward", !found);
    this.narrow(this.model.alone);
    if (moves && found && this.model.hides(this.graph.selected)) this.select(found.root, false);
    this.go(this.replay?.length ?? 0, false);
  }

  private go(position: number, follow = true): void {
    if (!this.replay) return;
    this.position = Math.max(0, Math.min(this.replay.length, position));
    this.slider.value = String(this.position);
    this.slider.setAttribute("aria-valuetext", this.says());
    this.counter.value = `${this.position} / ${this.replay.length}`;
    this.graph.position = this.position;
    this.graph.travel = -1;
    const step = this.replay.backward.steps[this.position];
    if (step && follow) this.graph.center(step.node, false);
    this.timeline.mark(step ? step.start : -1);
    this.graph.draw();
    this.tellState();
  }

  private says(): string {
    const step = this.replay?.backward.steps[this.position];
    if (!step) return this.replay!.backward.error ? "The backward failed." : "The backward is over.";
    const failing = this.replay!.backward.failing === this.position ? ", which fails" : "";
    return `Step ${this.position + 1}: ${name(this.model, step.node)} runs${failing}.`;
  }

  private tellState(): void {
    const replay = this.replay!;
    const { backward } = replay;
    const step = backward.steps[this.position];
    const alive = step ? this.timeline.memory.at(step.start) : this.timeline.memory.at(backward.end ?? Infinity);
    const freed = replay.freed[this.position];
    fill(this.status, h("span", {}, this.says()), h("span", { class: "quiet" }, `${amount(alive)} alive${freed ? `, ${amount(freed)} of saved values freed` : ""}`));
    const queue = replay.queue(this.position);
    const button = (i: number): HTMLElement => h("button", { class: "link", click: () => this.select(i) }, breakable(name(this.model, i)));
    const rows = queue.slice(0, LISTED).map((i) => h("tr", {}, h("td", {}, button(i)), h("td", { class: "right" }, this.model.nodes[i].leaf ? "first" : String(this.model.nodes[i].sequence_nr))));
    const waiting = [...replay.inBackward].filter((i) => replay.state(i, this.position) === "waiting");
    const buffers = waiting.slice(0, LISTED).map((i) => h("tr", {}, h("td", {}, button(i)), h("td", { class: "right" }, `${replay.arrived(i, this.position)} of ${replay.awaited(i)}`), h("td", {}, h("code", {}, replay.sums(i, this.position)))));
    const filled = backward.steps.slice(0, this.position).filter((s) => s.grad >= 0);
    const grads = filled.slice(-LISTED).map((s) => this.gradRow(s.node, s.grad, button));
    const table = (title: string, head: string[], body: HTMLElement[], all: number, none: string): HTMLElement =>
      h("section", {}, h("h3", {}, all > LISTED ? `${title}: ${LISTED} of ${all.toLocaleString("en")}` : title), body.length ? h("table", {}, h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { class: COUNTED.has(text) ? "right" : "" }, text)))), h("tbody", {}, ...body)) : h("p", { class: "quiet" }, none));
    fill(
      this.replayCard,
      step ? h("p", { class: "now" }, `Step ${this.position + 1} runs `, button(step.node), backward.failing === this.position ? ", which fails" : "") : h("p", { class: "now" }, this.says()),
      backward.error ? h("p", { class: "failure" }, `⚠ ${backward.error}`) : null,
      table("Ready queue", ["node", "priority"], rows, queue.length, "empty"),
      table("Sums under way", ["node", "arrived", "so far"], buffers, waiting.length, "none"),
      table(".grad so far", ["leaf", "value"], grads, filled.length, "none"),
    );
  }

  private gradRow(node: number, value: number, button: (i: number) => HTMLElement): HTMLElement {
    const told = this.model.figures(value);
    const text = !told ? "–" : told.values ? `[${told.values.map(exact).join(", ")}]` : `${told.shape.join("×")} ‖${number(told.norm)}‖`.trim();
    return h("tr", { class: "grad-row" }, h("td", {}, button(node)), h("td", {}, h("code", {}, text)));
  }

  // -- playing --------------------------------------------------------------------------------------------------------

  private play(on: boolean): void {
    if (on === this.playing || (on && !this.replay)) return;
    this.playing = on;
    this.playButton.textContent = on ? "❚❚" : "▶";
    this.playButton.setAttribute("aria-label", on ? "Pause" : "Play");
    if (!on) {
      this.graph.travel = -1;
      this.graph.draw();
      return;
    }
    if (this.position >= this.replay!.length) this.go(0);
    let began = performance.now();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const frame = (now: number): void => {
      if (!this.playing) return;
      const elapsed = ((now - began) * this.speed) / 700;
      if (elapsed >= 1) {
        began = now;
        this.go(this.position + Math.max(1, Math.floor(elapsed)));
        if (this.position >= this.replay!.length) return this.play(false);
      } else if (!still) {
        this.graph.travel = Math.max(0, (elapsed - 0.25) / 0.75);
        this.graph.draw();
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const slides = target === this.slider && !/^(Arrow|Home|End|Page)/.test(event.key); // which a slider has for itself
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && !slides) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (/^(BUTTON|SUMMARY)$/.test(target.tagName) && (event.key === " " || event.key === "Enter")) return;
    const along = target === this.graph.canvas && this.model.used.length > 0;
    const actions: Record<string, () => void> = {
      " ": () => this.play(!this.playing),
      ArrowRight: () => this.go(this.position + 1),
      ArrowLeft: () => this.go(this.position - 1),
      ...(along ? { ArrowDown: () => this.along(1), ArrowUp: () => this.along(-1) } : {}),
      Home: () => this.go(0),
      End: () => this.go(Infinity),
      "+": () => this.graph.zoom(1.3),
      "=": () => this.graph.zoom(1.3),
      "-": () => this.graph.zoom(1 / 1.3),
      "0": () => this.graph.fit(),
      f: () => this.foldAround(),
      t: () => this.theme(),
      "/": () => {
        this.show("find");
        this.find.input.focus();
      },
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  // Folds the innermost open group around the chosen node; if that is folded, unfolds it.
  private foldAround(): void {
    const node = this.graph.selected;
    if (node < 0) return;
    const path = this.model.path(node);
    const hiding = path.find((group) => this.model.folded.has(group));
    const group = hiding ?? path.at(-1);
    if (group === undefined) return;
    this.model.fold(group, hiding === undefined);
    this.relayout();
    this.graph.center(node, false);
  }

  // Down goes to the first node that gets a gradient from this one, up to the first that gives it one.
  private along(direction: number): void {
    const node = this.graph.selected;
    if (node < 0) return this.select(this.model.used.find((i) => !this.model.givers[i].length)!);
    const ends = direction > 0 ? this.model.nodes[node].edges.map(([to]) => to).filter((to) => to >= 0) : this.model.givers[node].filter((giver) => !this.model.hides(giver));
    if (ends.length) this.select(ends[0]);
    this.graph.canvas.focus();
  }

  // -- colours --------------------------------------------------------------------------------------------------------

  private theme(): void {
    this.recolor(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  }

  private setTheme(theme: string): void {
    document.documentElement.dataset.theme = theme;
    const style = getComputedStyle(document.documentElement);
    for (const name of NAMES) this.colors[name] = style.getPropertyValue(`--${name}`).trim();
  }

  private recolor(theme: string): void {
    this.setTheme(theme);
    this.graph.draw();
    this.timeline.memory.recolor();
    this.timeline.draw();
  }

  // What tests in a browser ask.
  get probe(): unknown {
    const { graph, model } = this;
    return {
      items: () => model.items.map((item) => item.label),
      screen: (node: number) => graph.screen(node),
      nodes: model.nodes.length,
      drawn: () => model.drawn.length,
      roots: () => this.recording.backwards.map(({ root }) => root),
      position: () => this.position,
      state: (node: number) => this.replay?.state(node, this.position),
      selected: () => graph.selected,
      folded: () => [...model.folded],
      rows: () => this.timeline.rows,
      backward: () => this.backward,
      color: (node: number) => graph.colorOf(model.itemOf[node], this.colors),
    };
  }
}

const root = document.getElementById("app")!;
const recording = await read(document.getElementById("recording")!.textContent!);
if (recording) {
  document.title = `${recording.title} – retrograd inspector`;
  const page = new Page(recording, root);
  (window as unknown as { inspector: unknown }).inspector = page.probe;
} else root.append(h("p", {}, "This page has no recording in it."));
