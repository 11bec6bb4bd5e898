import { chromium } from "playwright-core";
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const name of process.argv.slice(2)) {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 }, offline: true });
  page.on("console", (m) => console.log(m.type(), m.text())); page.on("pageerror", (e) => console.log("ERROR", e.message));
  const t = Date.now();
  await page.goto(`file:///tmp/hr/inspect/shots/${name}.html`);
  await page.waitForFunction(() => window.inspector);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const t1 = Date.now();
  await page.click("#unfold"); await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const t2 = Date.now();
  const f = await page.evaluate(() => new Promise((done) => { const t = performance.now(); let n = 0; const s = document.querySelector("#slider"); const go = () => { s.value = String(n * 50); s.dispatchEvent(new Event("input")); if (++n < 20) requestAnimationFrame(go); else done((performance.now() - t) / 20); }; go(); }));
  console.log(name, "load", t1 - t, "unfold", t2 - t1, "step", f, await page.evaluate(() => window.inspector.items().length));
  await page.screenshot({ path: `/tmp/hr/inspect/shots/${name}.png` });
  await page.close();
}
await browser.close();
