import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const folders = ['src', 'sql', 'larkspur', 'scripts', 'web', 'sdk', 'bench', 'test/harness'];
const positional_max = 4;

test('no function has more than four positional parameters: further ones are one object', () => {
  const long = folders.flatMap(listFiles).flatMap((file) => {
    const declared = functionsIn(file, readFileSync(join(root, file), 'utf8'));
    return declared.filter(({ count }) => count > positional_max).map(({ name }) => `${file}: ${name}`);
  });
  // A method of OpenTelemetry's interface `Sampler`.
  expect(long).toStrictEqual(['src/platform/telemetry/openExport.ts: shouldSample']);
});

test('finds the parameters of functions, methods and function types', () => {
  const code = `
    export async function one(a: string) {}
    const two = <T,>(a: T, { b, c }: { b: T; c: T }) => b;
    type Three = { three: (a: string, b?: string, ...rest: string[]) => void; none(): void };
    class Four { constructor(private a: string, b: string, c = 1, d = 2) {} }
    [].map((five, b, c, d, e) => five);`;
  expect(functionsIn('example.ts', code)).toStrictEqual([
    { name: 'one', count: 1 },
    { name: 'two', count: 2 },
    { name: 'three', count: 3 },
    { name: 'none', count: 0 },
    { name: 'constructor', count: 4 },
    { name: '', count: 5 },
  ]);
});

type Declared = { name: string; count: number };

/** The functions and function types of a file, in order, with how many parameters they have. */
function functionsIn(file: string, code: string): Declared[] {
  const { program, errors } = parseSync(file, code);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const declared: Declared[] = [];
  const visit = (node: Node, outer: string) => {
    const { id, key, params, type } = node;
    const name = readName(id) ?? readName(key) ?? outer;
    // The parameters of a generic type are in `params`, too.
    if (Array.isArray(params) && !String(type).startsWith('TSTypeParameter')) {
      declared.push({ name, count: params.length });
    }
    for (const child of Object.values(node)) if (isNode(child)) visit(child, name);
  };
  visit({ ...program }, '');
  return declared;
}

type Node = Record<string, unknown>;

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}

function readName(node: unknown): string | undefined {
  return isNode(node) && 'name' in node ? String(node.name) : undefined;
}

function listFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(tsx?|mjs)$/.test(name) && !/node_modules|\.gen\.ts$/.test(name))
    .map((name) => `${folder}/${name}`)
    .sort();
}
