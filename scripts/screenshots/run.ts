/** `npm run screenshots`: takes the pictures of the dashboard in docs/images from a new sandbox. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Browser, chromium, type Page } from 'playwright-core';
import { root, startServiceProcess } from '../serviceProcess.ts';
import { createLinkToken, type Sandbox, seed } from './seed.ts';

const [port, larkspur_port] = [4870, 4871];

/** A name that contains `-dark` or `-phone` is taken that way. */
const pictures: Record<string, (page: Page, sandbox: Sandbox) => Promise<unknown>> = {
  'dashboard-overview': openPage('/overview'),
  'dashboard-accounts': openPage('/accounts'),
  'dashboard-jobs': openPage('/jobs'),
  'dashboard-jobs-phone': openPage('/jobs?state=failed'),
  'dashboard-job': async (page, sandbox) => {
    await openPage('/jobs?code=medication_not_found')(page, sandbox);
    await page.getByRole('table', { name: 'Jobs' }).getByRole('link').first().click();
    await page.getByRole('region', { name: 'Timeline' }).waitFor();
  },
  'dashboard-events-dark': openPage('/events'),
  'dashboard-endpoint-dark': async (page, sandbox) => {
    await openPage('/events/endpoints')(page, sandbox);
    await page.getByRole('row').filter({ hasText: 'Failing' }).getByRole('link').click();
    await page.getByRole('region', { name: 'Last 24 hours' }).waitFor();
  },
  'dashboard-records': async (page, sandbox) => {
    await openPage('/records')(page, sandbox);
    await page
      .getByRole('navigation', { name: 'Record types' })
      .getByRole('link', { name: /^Appointments/ })
      .click();
    await page.getByRole('table', { name: 'Appointments' }).waitFor();
  },
  'dashboard-requests': async (page, { dashboard }) => {
    await page.goto(`${dashboard.url}/requests?status=failed`);
    await page.getByRole('row').filter({ hasText: 'telephone-encounters' }).first().click();
    await page.getByRole('dialog').waitFor();
  },
  'dashboard-audit-dark': (page, { dashboard }) => page.goto(`${dashboard.url}/audit`),
  'dashboard-settings': (page, { dashboard, client_id }) => page.goto(`${dashboard.url}/settings/clients/${client_id}`),
  link: openLink,
  'link-dark': openLink,
  'link-phone': openLink,
};

/** Where 800 px cut off what the picture is about. */
const heights: Record<string, number> = { 'dashboard-overview': 1080 };

function openPage(path: string) {
  return (page: Page, { dashboard, client_id }: Sandbox) => page.goto(`${dashboard.url}/clients/${client_id}${path}`);
}

async function openLink(page: Page, sandbox: Sandbox): Promise<void> {
  await page.goto(`${sandbox.base_url}/link#token=${await createLinkToken(sandbox)}`);
}

/** Runs in the browser. */
const compress = `async (base64) => {
  const image = new Image();
  image.src = 'data:image/png;base64,' + base64;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  canvas.getContext('2d').drawImage(image, 0, 0);
  return canvas.toDataURL('image/webp', 0.7);
}`;

const folder = mkdtempSync(join(tmpdir(), 'chartwire-screenshots-'));
const ports = { PORT: String(port), LARKSPUR_PORT: String(larkspur_port) };
const service = await startServiceProcess('all', { env: { DATA_DIR: folder, ...ports } });
try {
  const sandbox: Sandbox = JSON.parse(readFileSync(join(folder, 'sandbox.json'), 'utf8'));
  const receivers = await seed(sandbox);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium-headless-shell',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  await takePictures(browser, sandbox);
  await browser.close();
  receivers.stop();
} finally {
  await service.stop();
  rmSync(folder, { recursive: true });
}

async function takePictures(browser: Browser, sandbox: Sandbox): Promise<void> {
  const storageState = await signIn(browser, sandbox);
  const blank = await browser.newPage();
  for (const [name, open] of Object.entries(pictures).filter(([name]) => isWanted(name))) {
    const context = await browser.newContext({
      viewport: name.includes('-phone') ? { width: 390, height: 844 } : { width: 1280, height: heights[name] ?? 800 },
      colorScheme: name.includes('-dark') ? 'dark' : 'light',
      reducedMotion: 'reduce',
      storageState,
    });
    // An installation in use.
    const dismissed = [`chartwire.first-steps.${sandbox.client_id}`, '{"dismissed":true}'];
    await context.addInitScript(`localStorage.setItem(...${JSON.stringify(dismissed)})`);
    const page = await context.newPage();
    await open(page, sandbox);
    // Where the last click was, a tooltip could open.
    await page.mouse.move(0, 0);
    await loaded(page);
    const file = `docs/images/${name}.webp`;
    const image = await toWebp(blank, await page.screenshot());
    writeFileSync(join(root, file), image);
    process.stdout.write(`${file} ${Math.ceil(image.length / 1024)} KB\n`);
    await context.close();
  }
}

/** Arguments limit the pictures to the names that contain one of them. */
function isWanted(name: string): boolean {
  const parts = process.argv.slice(2);
  return parts.length === 0 || parts.some((part) => name.includes(part));
}

async function signIn(browser: Browser, { dashboard }: Sandbox) {
  const page = await browser.newPage();
  await page.goto(dashboard.url);
  await page.getByLabel('Email').fill(dashboard.email);
  await page.locator('input[name="password"]').fill(dashboard.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  return page.context().storageState();
}

/** Live updates keep a connection open, so the network is never idle: nothing is loading, twice within a second. */
async function loaded(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor({ state: 'attached' });
  const busy = page.locator('[aria-busy="true"]').first();
  await busy.waitFor({ state: 'detached' });
  await wait(1000);
  await busy.waitFor({ state: 'detached' });
}

/** The browser compresses, so that no other package is needed. A third of the size of a PNG. */
async function toWebp(page: Page, png: Buffer): Promise<Buffer> {
  const url = await page.evaluate<string>(`(${compress})('${png.toString('base64')}')`);
  return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
}
