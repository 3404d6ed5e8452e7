import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...['docs', 'examples', 'sdk'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
];

test('every relative link in the documentation leads to a file', () => {
  const broken = pages.flatMap((page) =>
    [...readProse(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^(https?:|#)/.test(target))
      .filter((target) => !existsSync(resolve(root, dirname(page), target.replace(/#.*$/, ''))))
      .map((target) => `${page}: ${target}`),
  );
  expect(broken).toStrictEqual([]);
});

test('every link to a heading leads to one', () => {
  const broken = pages.flatMap((page) =>
    [...readProse(page).matchAll(/\]\(([^)\s]*\.md)?#([^)\s]+)\)/g)]
      .filter(([, target, anchor = '']) => !listAnchors(target ? join(dirname(page), target) : page).includes(anchor))
      .map(([, target = '', anchor]) => `${page}: ${target}#${anchor}`),
  );
  expect(broken).toStrictEqual([]);
});

test('every path of the repository that the documentation names exists', () => {
  const missing = pages.flatMap((page) =>
    [...readProse(page).matchAll(/`((?:src|larkspur|web|sdk|scripts|test|bench|docs|examples)\/[^`\s]*)`/g)]
      .map(([, path = '']) => path)
      .filter((path) => !/[<>…*{]/.test(path) && !existsSync(join(root, path)))
      .map((path) => `${page}: ${path}`),
  );
  expect(missing).toStrictEqual([]);
});

function readProse(page: string): string {
  return readFileSync(join(root, page), 'utf8').replace(/^```[\s\S]*?^```/gm, '');
}

/** The anchors of a page's headings, as GitHub derives them. */
function listAnchors(page: string): string[] {
  return [...readProse(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
}
