import { chromium } from "playwright-core";
const names = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const spec of names) {
  const [name, width, theme, what] = spec.split(",");
  const page = await browser.newPage({ viewport: { width: Number(width), height: Number(width) < 500 ? 844 : 1000 }, colorScheme: theme, offline: true });
  page.on("console", (m) => console.log(name, m.type(), m.text()));
  page.on("pageerror", (e) => console.log(name, "ERROR", e.message));
  await page.goto(`file:///tmp/hr/inspect/shots/${name}.html`);
  await page.waitForTimeout(600);
  if (what) await page.evaluate(what).catch((e) => console.log(String(e)));
  await page.waitForTimeout(300);
  await page.screenshot({ path: `/tmp/hr/inspect/shots/${name}-${width}-${theme}.png`, fullPage: Number(width) < 500 });
  await page.close();
}
await browser.close();
