import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ESTree, parseSync, Visitor } from 'vite';
import { expect, test } from 'vitest';

const folder = resolve(import.meta.dirname, '..');

/** Words that only continue the title of a `describe`, which is not shown next to it in every report. */
const continuations = /^(that|whose|who|which|also|and|or|but|of|with)\b/;
/** Words that start a sentence only if a comma ends their part: “until the first sync, every list is empty”. */
const openings = /^(without|for|from|by|to|at|in|on|as|under|while|once|after|until|before|within|through)\b(?!.*,)/;
/** In these the word is a name. */
const allowed = ['from and to are inclusive'];

test('the title of every test stands alone: it does not start with that, whose, of, with, also, …', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'));
  const fragments = files.sort().flatMap((file) =>
    titlesIn(readFileSync(join(folder, file), 'utf8'))
      .filter((title) => continuations.test(title) || openings.test(title))
      .filter((title) => !allowed.includes(title))
      .map((title) => `test/${file}: ${title}`),
  );
  expect(fragments).toStrictEqual([]);
});

/** The titles that are written where `test` or `it` is called; those of `row` and of tables are not. */
function titlesIn(source: string): string[] {
  const titles: string[] = [];
  const visitor = new Visitor({
    CallExpression({ callee, arguments: [title] }) {
      if (!['test', 'it'].includes(calledName(callee) ?? '')) return;
      if (title?.type === 'Literal' && typeof title.value === 'string') titles.push(title.value);
      if (title?.type === 'TemplateLiteral') titles.push(title.quasis.map(({ value }) => value.raw).join('…'));
    },
  });
  visitor.visit(parseSync('a.test.ts', source).program);
  return titles;
}

/** `test` in `test(…)`, `test.skipIf(…)(…)` and `test.each(…)(…)`. */
function calledName(callee: ESTree.Expression): string | undefined {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'MemberExpression') return calledName(callee.object);
  if (callee.type === 'CallExpression') return calledName(callee.callee);
  return callee.type === 'TaggedTemplateExpression' ? calledName(callee.tag) : undefined;
}
