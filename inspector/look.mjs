// Opens recordings' pages in a browser, without a network, and prints what it sees as JSON: tests/inspect/test_browser.py
// reads it.   node look.mjs CHROMIUM FOLDER
import { chromium } from "playwright-core";
import { readdirSync } from "node:fs";
import { join } from "node:path";

const [program, folder] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext({ offline: true, viewport: { width: 1600, height: 1000 } });
context.setDefaultTimeout(180_000); // other tests may keep the machine busy
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

async function open(name, width = 1600, colorScheme = "light") {
  const page = await context.newPage();
  const seen = { problems: [], requests: [] };
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && seen.problems.push(message.text()));
  page.on("pageerror", (error) => seen.problems.push(String(error)));
  page.on("dialog", (dialog) => (seen.problems.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
  page.on("request", (request) => request.url().startsWith("file:") || seen.requests.push(request.url()));
  await page.setViewportSize({ width, height: 1000 });
  await page.emulateMedia({ colorScheme });
  const start = Date.now();
  await page.goto(`file://${join(folder, name)}`);
  await page.waitForFunction(() => window.inspector);
  await settled(page);
  seen.milliseconds = Date.now() - start;
  return [page, seen];
}

const found = {};

// Every page opens, at both widths and in both themes, without a complaint, and nothing runs over its edge.
for (const name of readdirSync(folder).filter((file) => file.endsWith(".html"))) {
  found[name] = {};
  const [page, seen] = await open(name);
  for (const [width, colorScheme] of [[1600, "light"], [1600, "dark"], [390, "light"], [390, "dark"]]) {
    await page.setViewportSize({ width, height: 1000 });
    await page.emulateMedia({ colorScheme });
    await settled(page);
    const measure = () => ({
      overflow: document.documentElement.scrollWidth - innerWidth,
      paper: getComputedStyle(document.documentElement).getPropertyValue("--paper").trim(),
      title: document.querySelector("h1").textContent,
      scripts: document.querySelectorAll("script").length,
      images: document.querySelectorAll("img, iframe, object").length,
      items: window.inspector.items().length,
    });
    found[name][`${width} ${colorScheme}`] = { ...seen, ...(await page.evaluate(measure)) };
  }
  await page.close();
}

// The replay, by buttons, slider and keys.
{
  const [page, seen] = await open("line.html");
  const position = () => page.evaluate(() => window.inspector.position());
  const steps = { at: [await position()] };
  await page.click("#first");
  steps.at.push(await position());
  await page.click("#next");
  await page.keyboard.press("ArrowRight");
  steps.at.push(await position());
  await page.click("#back");
  steps.at.push(await position());
  await page.keyboard.press("Home");
  steps.at.push(await position());
  const marks = () => page.evaluate(() => [...document.querySelectorAll(".now-line")].map((line) => line.style.left));
  await page.locator("#slider").fill("1");
  const before = await marks();
  await page.locator("#slider").fill("3");
  const after = await marks();
  steps.moved = before.length === 2 && before.every((left, i) => left !== after[i]);
  steps.at.push(await position());
  steps.states = await page.evaluate(() => Array.from({ length: window.inspector.nodes }, (_, i) => window.inspector.state(i)));
  await page.click("#tab-replay");
  steps.queue = await page.locator(".state section").first().innerText();
  await page.click("#first");
  await page.selectOption("#speed", "20");
  await page.click("#play");
  await page.waitForFunction(() => window.inspector.position() === Number(document.querySelector("#slider").max));
  steps.at.push(await position());
  steps.grads = await page.locator(".grad-row").allInnerTexts();
  await page.keyboard.press("End");
  await page.keyboard.press("t");
  steps.theme = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--paper").trim());
  await page.keyboard.press("/");
  steps.focus = await page.evaluate(() => document.activeElement.type);
  await page.keyboard.type("mulback");
  steps.results = await page.locator(".results li").allInnerTexts();
  await page.keyboard.press("Enter");
  steps.selected = await page.evaluate(() => window.inspector.selected());
  await page.click("#tab-node");
  steps.card = await page.locator(".card").innerText();
  await page.locator(".card section h3 .link").first().click();
  steps.line = await page.locator(".sources .here").innerText();
  await page.locator(".sources .count").first().click();
  steps.fromCode = await page.evaluate(() => window.inspector.selected());
  await page.click("#tab-find");
  steps.answers = {};
  for (const button of await page.locator(".ask").all()) {
    await button.click();
    steps.answers[await button.innerText()] = await page.locator(".results").innerText();
  }
  // A click on a node of the graph.
  const root = await page.evaluate(() => {
    const box = document.querySelector("#graph").getBoundingClientRect();
    const at = window.inspector.screen(0);
    return { x: box.x + at.x, y: box.y + at.y };
  });
  await page.mouse.click(root.x, root.y);
  await page.mouse.move(root.x, root.y - 3);
  steps.hint = await page.locator("#graph").getAttribute("title");
  steps.clicked = await page.evaluate(() => window.inspector.selected());
  steps.problems = seen.problems;
  found.replay = steps;
  await page.close();
}

// Groups fold and unfold.
{
  const [page, seen] = await open("modules.html");
  const items = () => page.evaluate(() => window.inspector.items());
  const folds = { open: await items() };
  await page.click("#fold");
  folds.folded = await items();
  await page.click("#unfold");
  folds.unfolded = await items();
  await page.selectOption("#grouping", "line");
  await page.click("#fold");
  folds.lines = await items();
  await page.selectOption("#grouping", "none");
  folds.none = await items();
  await page.selectOption("#grouping", "module");
  await page.selectOption("#coloring", { label: "color: saved bytes" });
  await page.click("#fold");
  const scale = () => page.locator(".stage .legend").innerText();
  folds.scales = [await scale()];
  await page.click("#tab-find");
  await page.locator(".find input").fill("tanh");
  await page.keyboard.press("Enter");
  folds.scales.push(await scale());
  folds.problems = seen.problems;
  found.folds = folds;
  await page.close();
}

// Find by shape and by line.
{
  const [page] = await open("modules.html");
  await page.keyboard.press("/");
  const rows = async (text) => (await page.locator(".find input").fill(text), page.locator(".results li").allInnerTexts());
  const line = await page.evaluate(() => JSON.parse(document.querySelector("#recording").textContent).places[0].line);
  found.find = { shape: await rows("3x2 addmm"), line: await rows(`line ${line}`), none: await rows("nothing of the kind") };
  await page.close();
}

// Find on a narrow page, scrolled down to it.
{
  const [page] = await open("modules.html", 390);
  await page.click("#tab-find");
  await page.locator(".find input").fill("3x2 addmm");
  const top = () => page.evaluate(() => document.querySelector("#graph").getBoundingClientRect().top);
  await page.evaluate(() => scrollTo(0, document.querySelector(".results").getBoundingClientRect().top));
  found.narrow = { before: await top(), row: await page.locator(".results li").first().innerText() };
  await page.locator(".results button").first().click();
  found.narrow.after = await top();
  await page.close();
}

// Every control by the keyboard alone; the graph's own keys.
{
  const [page, seen] = await open("modules.html");
  const keys = { controls: await page.evaluate(() => [...document.querySelectorAll("button[id]:not([role=tab]), select, #slider, #graph, #tab-node")].map((control) => control.id)), reached: [], along: [] };
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press("Tab");
    keys.reached.push(await page.evaluate(() => document.activeElement.id));
  }
  const selected = () => page.evaluate(() => window.inspector.selected());
  await page.focus("#graph");
  await page.keyboard.press("ArrowDown");
  keys.along.push(await selected());
  await page.keyboard.press("ArrowDown");
  keys.along.push(await selected());
  await page.keyboard.press("ArrowUp");
  keys.along.push(await selected());
  await page.keyboard.press("f");
  keys.folded = await page.evaluate(() => window.inspector.folded());
  await page.keyboard.press("f");
  keys.unfolded = await page.evaluate(() => window.inspector.folded());
  await page.focus("#slider");
  keys.slider = [];
  for (let i = 0; i < 2; i++) {
    await page.keyboard.press("Space");
    keys.slider.push(await page.locator("#play").getAttribute("aria-label"));
  }
  keys.problems = seen.problems;
  found.keys = keys;
  await page.close();
}

// On paper, from a dark page with a graph that the screen has no room for.
{
  const [page] = await open("six-digits.html", 1600, "dark");
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await settled(page);
  found.paper = await page.evaluate(() => {
    const lowest = () => {
      const nodes = Array.from({ length: window.inspector.nodes }, (_, node) => window.inspector.screen(node)?.y ?? 0);
      return Math.max(...nodes) / document.querySelector("#graph").clientHeight;
    };
    const before = lowest();
    window.dispatchEvent(new Event("beforeprint"));
    const style = (element) => getComputedStyle(element);
    const corner = document.querySelector("#graph").getContext("2d").getImageData(800, 60, 1, 1).data;
    const seen = { player: style(document.querySelector(".player")).display, paper: style(document.documentElement).getPropertyValue("--paper").trim(), brightness: corner[3] ? corner[0] : 255, before, lowest: lowest() };
    window.dispatchEvent(new Event("afterprint"));
    return { ...seen, after: lowest(), theme: document.documentElement.dataset.theme };
  });
  await page.close();
}

// Colors by numbers: those of a comparison first, and by the replay again.
{
  const [page] = await open("diff.html");
  const look = async () => ({
    legend: await page.locator(".stage .legend li").allTextContents(),
    colors: await page.evaluate(() => Array.from({ length: window.inspector.nodes }, (_, node) => window.inspector.color(node))),
  });
  const chosen = page.locator("#coloring");
  found.overlay = { options: await chosen.locator("option").allTextContents(), first: await look(), card: await page.locator(".card dl").first().innerText() };
  await chosen.selectOption({ label: "color: saved bytes" });
  found.overlay.saved = await look();
  await page.click("#fold");
  found.overlay.folded = await look();
  await chosen.selectOption({ label: "color: replay" });
  found.overlay.replay = await look();
  await page.close();
}

// Legends, strange names, failures, threads.
{
  const [page] = await open("six-nan.html");
  found.legend = { graph: await page.locator(".stage .legend li").allTextContents(), timeline: await page.locator(".timeline .legend li").allTextContents() };
  await page.close();
}
{
  const [page] = await open("hostile.html");
  await page.keyboard.press("End");
  await page.click("#tab-replay");
  const shown = await page.locator(".grad-row button").allTextContents();
  const names = await page.evaluate(() => JSON.parse(document.querySelector("#recording").textContent).leaves.map((leaf) => leaf.name));
  found.names = names.filter((name) => shown.includes(name));
  await page.close();
}
{
  const [page] = await open("failing.html");
  const says = await page.locator(".status span").first().innerText();
  await page.click("#tab-replay");
  found.failing = { says, state: await page.locator(".state").innerText(), header: await page.locator("header .failure").innerText() };
  await page.close();
}
{
  const [page] = await open("forward.html");
  found.forward = await page.evaluate(() => ({ player: getComputedStyle(document.querySelector(".replay")).display, card: document.querySelector(".card h2").textContent }));
  await page.close();
}
{
  const [page] = await open("nothing.html");
  found.nothing = await page.locator(".panel").innerText();
  await page.close();
}
{
  const [page] = await open("sums.html");
  await page.click("#tab-replay");
  found.sums = [];
  for (let step = 0; step < Number(await page.locator("#slider").getAttribute("max")); step++) {
    await page.locator("#slider").fill(String(step));
    for (const row of await page.locator(".state section:nth-of-type(2) tbody tr").all()) found.sums.push(await row.locator("td").allInnerTexts());
  }
  await page.close();
}
{
  const [page] = await open("threads.html");
  found.threads = { backwards: (await page.evaluate(() => window.inspector.rows())).filter((row) => row.endsWith("backward")).sort(), count: await page.locator("#backward option").count() };
  await page.close();
}

// Thirty steps, of which one is shown at a time.
{
  const [page] = await open("training.html");
  const training = { scope: [], nodes: [], backwards: [], selected: [], roots: await page.evaluate(() => window.inspector.roots()) };
  const note = async () => {
    await settled(page);
    training.scope.push(await page.locator("#scope").inputValue());
    training.nodes.push(await page.evaluate(() => window.inspector.drawn()));
    training.backwards.push(await page.evaluate(() => window.inspector.backward()));
    training.selected.push(await page.evaluate(() => window.inspector.selected()));
  };
  await page.click("#unfold");
  training.leaves = (await page.evaluate(() => window.inspector.items())).filter((label) => /^(weight|bias)$/.test(label)).length;
  await note();
  await page.locator("#backward").selectOption("29");
  await note();
  await page.click("#tab-find");
  await page.locator(".find input").fill("sumbackward");
  await page.locator(".results li button").nth(3).click();
  await note();
  await page.locator("#slider").fill("0");
  await note();
  await page.locator("#scope").selectOption("all");
  await note();
  found.training = training;
  await page.close();
}

// Ten thousand nodes, unfolded.
{
  const [page, seen] = await open("chain.html");
  await page.click("#unfold");
  await settled(page);
  const unfolded = (await page.evaluate(() => window.inspector.items())).length;
  await page.locator("#slider").fill("5001");
  await settled(page);
  const half = await page.evaluate(() => window.inspector.position());
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.locator(".find input").fill("mul");
  found.large = { problems: seen.problems, unfolded, half, found: await page.locator(".results li").count() };
  await page.close();
}

// A hundred thousand nodes, folded; what is found is unfolded, and folded again; at last all of them.
{
  const [page, seen] = await open("blocks.html");
  const count = () => page.evaluate(() => window.inspector.items().length);
  const large = { problems: seen.problems, nodes: await page.evaluate(() => window.inspector.nodes), first: await count() };
  await page.locator("#slider").fill("50000");
  large.half = await page.evaluate(() => window.inspector.position());
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.locator(".find input").fill("tanh");
  large.found = await page.locator(".results li").count();
  await page.keyboard.press("Enter");
  large.revealed = await count();
  await page.focus("#graph");
  await page.keyboard.press("f");
  large.again = await count();
  await page.click("#unfold");
  large.all = await count();
  found.folded = large;
  await page.close();
}

// The policy: nothing may be fetched or evaluated, whoever asks.
{
  const [page] = await open("line.html");
  found.policy = await page.evaluate(async () => {
    const refused = [];
    try { await fetch("https://example.com/"); } catch { refused.push("fetch"); }
    setTimeout("window.evaluated = 1");
    document.body.append(Object.assign(document.createElement("script"), { textContent: "window.injected = 1" }));
    await new Promise((done) => setTimeout(done, 50));
    if (!window.evaluated) refused.push("eval");
    if (!window.injected) refused.push("script");
    const image = await new Promise((done) => { const made = new Image(); made.onload = () => done(false); made.onerror = () => done(true); made.src = "https://example.com/a.png"; });
    if (image) refused.push("image");
    return refused;
  });
  await page.close();
}

await browser.close();
console.log(JSON.stringify(found));
