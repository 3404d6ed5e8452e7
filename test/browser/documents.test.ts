import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sniffDocument } from '../../src/platform/security/documents.ts';
import { findPdfRisks } from '../../src/platform/security/pdfRisks.ts';
import { closeWindows, openBrowser } from '../harness/browser.ts';

/** Files as a browser's own encoders write them. */
let browser: Browser;
let page: Page;
beforeAll(async () => {
  browser = await openBrowser();
  page = await browser.newPage({ viewport: { width: 300, height: 200 } });
  await page.setContent(
    '<h1>Referral</h1><canvas width="120" height="80"></canvas><a href="https://example.test">x</a>',
  );
});
afterAll(() => closeWindows(browser));

/** A picture of the canvas, encoded by the page. */
async function canvas(type: string, quality: number): Promise<Buffer> {
  const url = await page.evaluate<string>(`(() => {
    const canvas = document.querySelector('canvas');
    const context = canvas.getContext('2d');
    const colors = context.createLinearGradient(0, 0, 120, 80);
    colors.addColorStop(0, 'red');
    colors.addColorStop(1, 'blue');
    context.fillStyle = colors;
    context.fillRect(0, 0, 120, 80);
    return canvas.toDataURL('${type}', ${quality});
  })()`);
  return Buffer.from(url.split(',')[1] ?? '', 'base64');
}

test('detects pictures of a canvas and screenshots, also joined as phones join them', async () => {
  for (const quality of [0.05, 0.5, 0.92, 1]) {
    const jpeg = await canvas('image/jpeg', quality);
    expect(sniffDocument(jpeg)).toBe('image/jpeg');
    expect(sniffDocument(Buffer.concat([jpeg, Buffer.alloc(512), await canvas('image/jpeg', 0.2)]))).toBe('image/jpeg');
    expect(sniffDocument(jpeg.subarray(0, -3))).toBeUndefined();
  }
  expect(sniffDocument(await canvas('image/png', 1))).toBe('image/png');
  expect(sniffDocument(await page.screenshot({ type: 'png' }))).toBe('image/png');
  expect(sniffDocument(await page.screenshot({ type: 'jpeg', quality: 60 }))).toBe('image/jpeg');
});

test('detects a printed page and finds no script in it', async () => {
  const pdf = await page.pdf({ tagged: true, outline: true });
  expect(sniffDocument(pdf)).toBe('application/pdf');
  expect(sniffDocument(Buffer.concat([Buffer.from('\r\n'), pdf, Buffer.from('\0')]))).toBe('application/pdf');
  expect([...(await findPdfRisks(pdf))]).toStrictEqual([]);
});
