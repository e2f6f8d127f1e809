// Opens the page that `web/build.sh` has made in a headless Chromium, and looks whether it lives:
//
//     npm install --no-save --prefix web playwright-core     # drives browsers, and brings none along
//     node web/test.mjs [PICTURES]                           # CHROMIUM names the program if it is not /usr/bin/chromium
//
// Pictures of what was seen are written into the folder PICTURES (web/dist/test). Not a part of `cargo test`: it takes a browser.

import { createServer } from "node:http";
import { mkdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inflateRawSync } from "node:zlib";
import { chromium } from "playwright-core";

const dist = fileURLToPath(new URL("dist/", import.meta.url));
const pictures = process.argv[2] ?? join(dist, "test");
mkdirSync(pictures, { recursive: true });

const kinds = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
const server = createServer((request, response) => {
  const path = new URL(request.url, "http://localhost").pathname;
  const file = path === "/" ? "index.html" : path.slice(1);
  if (!/^[\w.-]+$/.test(file)) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": kinds[extname(file)] ?? "text/plain" }).end(readFileSync(join(dist, file)));
}).listen(0, "127.0.0.1");
await new Promise((done) => server.once("listening", done));
const address = `http://127.0.0.1:${server.address().port}/`;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true });
await context.grantPermissions(["clipboard-read", "clipboard-write"]);

let failed = 0;
function check(what, holds, more = "") {
  console.log(`${holds ? "ok    " : "FAILED"} ${what} ${more}`);
  failed += holds ? 0 : 1;
}

// A page of its own for each scene, and what its console says of errors.
async function open(fragment, size = { width: 1280, height: 800 }) {
  const page = await context.newPage();
  await page.setViewportSize(size);
  page.errors = [];
  page.on("console", (message) => message.type() === "error" && page.errors.push(message.text()));
  page.on("pageerror", (error) => page.errors.push(String(error)));
  const begun = Date.now();
  await page.goto(address + fragment);
  await page.waitForFunction(() => !document.getElementById("note"), null, { timeout: 120_000 });
  page.began = (Date.now() - begun) / 1000;
  return page;
}

// The picture between the panels.
function middle(page) {
  const { width, height } = page.viewportSize();
  return { x: 200, y: 80, width: width - 540, height: height - 180 };
}
const seen = (page) => page.screenshot({ clip: middle(page), timeout: 120_000 });
const seconds = (n) => new Promise((done) => setTimeout(done, 1000 * n));

// Whether something becomes so within a minute: without a graphics card, a 3D picture takes a while.
async function becomes(so, limit = 60) {
  for (let k = 0; k < limit; k++) {
    await seconds(1);
    if (await so()) return true;
  }
  return false;
}

async function moves(page) {
  const first = await seen(page);
  return becomes(async () => !first.equals(await seen(page)));
}

async function rests(page) {
  let last = await seen(page);
  return becomes(async () => last.equals((last = await seen(page))));
}

async function play(name, fragment, { paints, size }) {
  const page = await open(fragment, size);
  await seconds(2);
  check(`${name} moves`, await moves(page), `(loaded in ${page.began.toFixed(1)} s)`);
  await page.keyboard.press("Space");
  check(`${name} stands still after the space bar`, await rests(page));
  if (paints) {
    const still = await seen(page);
    const { x: left, y: top, width, height } = middle(page);
    const [x, y] = [left + width / 2 - 60, top + height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (let k = 1; k <= 12; k++) {
      await page.mouse.move(x + 10 * k, y);
      await seconds(0.1);
    }
    await page.mouse.up();
    // The brush itself is not to be seen.
    await page.mouse.move(left - 30, y);
    check(`a drag changes ${name}`, (await rests(page)) && !still.equals(await seen(page)));
  }
  await page.screenshot({ path: join(pictures, `${name}.png`), timeout: 120_000 });
  check(`${name}: nothing in the console`, page.errors.length === 0, page.errors.join("\n"));
  return page;
}

// Ctrl+S downloads the take, and it has the stroke in it.
async function saved(page) {
  const [download] = await Promise.all([page.waitForEvent("download", { timeout: 20_000 }), page.keyboard.press("Control+s")]);
  const text = readFileSync(await download.path(), "utf8");
  check("the take is a download", download.suggestedFilename() === "plume.take.toml" && text.includes("[[edit]]"));
  return text;
}

// What is dropped is opened: a liquid of its own.
async function drop(page, name, text) {
  const before = await page.screenshot();
  await page.evaluate(([name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    const event = (kind) => new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
    const canvas = document.getElementById("studio");
    for (const kind of ["dragenter", "dragover", "drop"]) canvas.dispatchEvent(event(kind));
  }, [name, text]);
  const changed = await becomes(async () => !before.equals(await page.screenshot()));
  await page.screenshot({ path: join(pictures, `dropped_${name}.png`) });
  return changed;
}

const plume = await play("plume", "", { paints: true });
const take = await saved(plume);
// Without a graphics card each pixel of a 3D picture takes its time.
const small = { width: 800, height: 500 };
await (await play("plume_3d", "#plume_3d", { paints: true, size: small })).close();
await (await play("dam", "#dam", { paints: true })).close();
// Meshes and drawings that the program carries.
await (await play("cross_to_tick", "#cross_to_tick", { paints: false })).close();
await (await play("spinning_knot", "#spinning_knot", { paints: false, size: small })).close();

// A link carries what was played: one is made, and another page opens it. The button is below the list of what was played, which has a line or two.
for (const y of [690, 673]) {
  if (plume.url().includes("#")) break;
  await plume.mouse.click(1011, y);
  await becomes(async () => plume.url().includes("#"), 8);
}
const link = plume.url();
const copied = await plume.evaluate(() => navigator.clipboard.readText());
check("the link is in the clipboard and in the address bar", link === copied && link.includes("#scene="), `(${link.length} letters)`);
const carried = inflateRawSync(Buffer.from(link.split("#scene=")[1] ?? "", "base64url")).toString();
check("it is the take, packed", carried === take);
await plume.close();
const shared = await play("shared", link.slice(address.length), { paints: false });
const [again] = await Promise.all([shared.waitForEvent("download", { timeout: 20_000 }), shared.keyboard.press("Control+s")]);
check("whoever opens it has the same take", readFileSync(await again.path(), "utf8") === take);
const waves = 'model = "liquid"\n[grid]\ncells = [48, 48]\n[[blob]]\nshape = { box = { min = [0, 0], max = [0.4, 0.6] } }\n';
check("a dropped scene is opened", await drop(shared, "waves.toml", waves));
await shared.keyboard.press("Space");
await rests(shared);
check("a dropped file that is no scene gets a message", await drop(shared, "noise.bin", "\u0001"));
check("drops: nothing in the console", shared.errors.length === 0, shared.errors.join("\n"));
await shared.close();

const broken = await open("#scene=nonsense");
check("with a broken link the usual scene plays", (await moves(broken)) && broken.errors.length === 0, broken.errors.join("\n"));
await broken.screenshot({ path: join(pictures, "broken.png") });

await browser.close();
server.close();
process.exit(failed ? 1 : 0);
