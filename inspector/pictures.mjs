// Takes the pictures of docs/guide/inspect.md from the pages that `python -m tests.inspect.recordings` has written.
//   node inspector/pictures.mjs chromium build/pages docs/guide/pictures
import { chromium } from "playwright-core";
import { resolve } from "node:path";

const [program, pages, pictures] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext({ offline: true, viewport: { width: 1280, height: 860 } });

async function picture(name, colorScheme, prepare) {
  const page = await context.newPage();
  await page.emulateMedia({ colorScheme });
  await page.goto(`file://${resolve(pages, name)}.html`);
  await page.waitForFunction(() => window.inspector);
  await prepare(page);
  await page.evaluate(() => document.activeElement.blur());
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.screenshot({ path: resolve(pictures, `${name}.png`) });
  await page.close();
}

await picture("line", "light", async (page) => {
  await page.locator("#slider").fill("3");
});
await picture("transformer", "light", async (page) => {
  await page.locator("#slider").fill("40");
  await page.click("#tab-replay");
});
await picture("nan", "dark", async () => {});
await browser.close();
