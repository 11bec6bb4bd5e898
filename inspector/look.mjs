// Opens recordings' pages in a browser, without a network, and prints what it sees as JSON: tests/inspect/test_browser.py
// reads it.   node look.mjs CHROMIUM FOLDER
import { chromium } from "playwright-core";
import { readdirSync } from "node:fs";
import { join } from "node:path";

const [program, folder] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext({ offline: true, viewport: { width: 1600, height: 1000 } });
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
  for (const [width, theme] of [[1600, "light"], [390, "dark"]]) {
    const [page, seen] = await open(name, width, theme);
    const measure = () => ({
      overflow: document.documentElement.scrollWidth - innerWidth,
      paper: getComputedStyle(document.documentElement).getPropertyValue("--paper").trim(),
      title: document.querySelector("h1").textContent,
      scripts: document.querySelectorAll("script").length,
      images: document.querySelectorAll("img, iframe, object").length,
      items: window.inspector.items().length,
    });
    found[name][width] = { ...seen, ...(await page.evaluate(measure)) };
    await page.close();
  }
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
  await page.locator("#slider").fill("3");
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
  steps.clicked = await page.evaluate(() => window.inspector.selected());
  await page.emulateMedia({ media: "print" });
  steps.printed = await page.evaluate(() => getComputedStyle(document.querySelector(".player")).display);
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
  folds.problems = seen.problems;
  found.folds = folds;
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
