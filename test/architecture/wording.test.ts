import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ESTree, parseSync, Visitor } from 'vite';
import { describe, expect, test } from 'vitest';

/**
 * Keeps the vocabulary of this codebase ordinary. Add to the lists when a review finds another invented term; ordinary
 * words such as once, about or hold are not banned as such.
 */

const root = resolve(import.meta.dirname, '../..');

/** Phrases that sound translated, with what to write instead. Checked in everything a person reads. */
const banned_phrases: [RegExp, string][] = [
  [/nobody to tell/i, 'No endpoints'],
  [/\bnobody known\b/i, 'Unauthenticated'],
  [/needs you at present/i, 'All clear'],
  [/do not belong together/i, 'Incorrect email or password.'],
  [/\b(they|it) goes? on once\b/i, 'resumes after re-linking'],
  [/looks? into the EMR/i, 'check in the EMR'],
  [/everything that was asked for/i, 'completed'],
  [/nobody knows whether/i, 'outcome unknown'],
  [/what (was|is) asked for/i, 'request'],
  [/what it got\b/i, 'received requests'],
  [/\banswer so\b/i, 'apply'],
  [/\bendpoint, exactly\b/i, 'Endpoint'],
  [/\bat least, in ms\b/i, 'Min. duration (ms)'],
  [/half of them within|95 of 100 within/i, 'p50, p95'],
  [/\bmake a link\b|>Make it<|take the logo away/i, 'Create link, Create, Remove logo'],
  [/that you look at (it|this) is recorded/i, 'Viewing this is logged.'],
  [/your id of the clinic/i, 'Organization ID'],
  [/nothing of that time is/i, 'No failed events in this period.'],
  [/no stored credential opens/i, 'stored credentials cannot be decrypted without it'],
  [/sending a request twice/i, 'idempotency'],
  [/stands? on every (answer|response)/i, 'is sent with every response'],
  [/stand to each other/i, 'symmetric relationships'],
  [/\bbegun\b/i, 'started'],
  [/\bmend(s|ed|ing)?\b/i, 'fix'],
  [/\blay(s|ing)? (the|a) (sandbox|practice|database)/i, 'seed, create'],
  [/\brings? (the|a) bell\b|\bthe bell (is )?r(i|u)ng/i, 'notify'],
  [/\b(is|are|was|were) told (of|by|that|to|at|in|once|so|it)\b/i, 'say what happens: receives, returns, is notified'],
  [/\bthe answer (of|to) (a|the|that|this) (request|call|question)/i, 'response'],
  [/\bcome(s)? to be\b/i, 'appear'],
  [/\b(is|are) held of\b|\bhangs? on no\b/i, 'stored'],
  [/\b(rooms?|floors?|doors?) of the (house|service|codebase)\b|\bthe house\b/i, 'module, layer, codebase'],
  [/\bwhoever (asks|calls|waits|looks)\b/i, 'callers, clients, operators'],
  [/\btries\b (of|it|again|are|is)\b/i, 'attempts'],
];

/** Names that do not say what the thing is. */
const banned_identifiers = [
  ...['told', 'saw', 'beside', 'Door', 'doorTo', 'Carried', 'Placed', 'bell', 'openBell', 'ringBell'],
  ...['laySandbox', 'layPractice', 'layCharts', 'layHead', 'mended', 'mendDriver', 'lookAgain', 'wordSteps'],
];

/** Variables, parameters and functions that do not say what they are. Properties are not checked: SQL and JSON name them. */
const banned_names = ['asked', 'found', 'held', 'together', 'tells', 'told'];

/** A function says what it does (countJobs), not whose it is (jobsOf). These are words of JSON Schema. */
const allowed_of = ['oneOf', 'isOneOf', 'anyOf', 'allOf'];

const read = (file: string) => readFileSync(join(root, file), 'utf8');

describe('wording', () => {
  const texts = [
    ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', '.env.example'],
    ...listFiles('docs', /\.md$/).filter((file) => !file.startsWith('docs/specification/interface')),
    ...['src', 'web', 'larkspur', 'sdk', 'scripts', 'examples'].flatMap((folder) =>
      listFiles(folder, /\.(tsx?|mjs|js|sql|html)$/),
    ),
  ];

  test.each(banned_phrases)('%s does not occur (write: %s)', (phrase) => {
    const uses = texts.flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, index) => (phrase.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
    );
    expect(uses).toStrictEqual([]);
  });

  test('code uses none of the banned identifiers', () => {
    const banned = new RegExp(`\\b(${banned_identifiers.join('|')})\\b`);
    const uses = ['src', 'web', 'larkspur', 'sdk', 'scripts', 'test', 'bench']
      .flatMap((folder) => listFiles(folder, /\.tsx?$/))
      .filter((file) => file !== 'test/architecture/wording.test.ts')
      .flatMap((file) =>
        withoutProse(read(file))
          .split('\n')
          .flatMap((line, index) => (banned.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
      );
    expect(uses).toStrictEqual([]);
  });
});

describe('names', () => {
  const files = ['src', 'web', 'larkspur', 'sdk', 'sql', 'scripts', 'test', 'bench'].flatMap((folder) =>
    listFiles(folder, /\.tsx?$/),
  );
  const declared = files.flatMap((file) => namesIn(file, read(file)).map((name) => ({ file, name })));

  test('no function or variable is named after its owner: …Of', () => {
    const uses = declared.filter(({ name }) => /[a-z]Of$/.test(name) && !allowed_of.includes(name));
    expect(uses).toStrictEqual([]);
  });

  test.each(banned_names)('no function, variable or parameter is called %s', (banned) => {
    expect(declared.filter(({ name }) => name === banned)).toStrictEqual([]);
  });
});

/** The names that a file declares: functions, variables and parameters. */
function namesIn(file: string, source: string): string[] {
  const names: string[] = [];
  const addAll = (patterns: readonly (ESTree.ParamPattern | ESTree.BindingPattern)[]) => {
    for (const pattern of patterns) names.push(...boundNames(pattern));
  };
  const visitor = new Visitor({
    VariableDeclarator({ id }) {
      addAll([id]);
    },
    ArrowFunctionExpression({ params }) {
      addAll(params);
    },
    FunctionExpression({ params }) {
      addAll(params);
    },
    FunctionDeclaration({ id, params }) {
      if (id) names.push(id.name);
      addAll(params);
    },
  });
  visitor.visit(parseSync(file, source).program);
  return names;
}

function boundNames(pattern: ESTree.ParamPattern | ESTree.BindingPattern): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'AssignmentPattern':
      return boundNames(pattern.left);
    case 'RestElement':
      return boundNames(pattern.argument);
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element ? boundNames(element) : []));
    case 'ObjectPattern':
      return pattern.properties.flatMap((each) => boundNames(each.type === 'RestElement' ? each.argument : each.value));
    default:
      return [];
  }
}

/** The source with comments and string contents blanked, line numbers kept. */
function withoutProse(source: string): string {
  return source
    .replaceAll(/\/\*[\s\S]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ' '))
    .replaceAll(/(^|\s)\/\/.*$/gm, '$1')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''");
}

function listFiles(folder: string, name: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => name.test(file))
    .map((file) => `${folder}/${file}`)
    .sort();
}
