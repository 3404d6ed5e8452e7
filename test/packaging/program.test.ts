import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const bundle = resolve(import.meta.dirname, '../../dist/bin');

test('the program without the sandbox loads no code of Larkspur', () => {
  const program = reachable('chartwire.js');
  const service = reachable(chunkWith('src/main.ts'));
  expect([...program, ...service].filter((chunk) => contains(chunk, 'larkspur/'))).toStrictEqual([]);
  // It is there for the sandbox, in a chunk of its own.
  expect(contains(chunkWith('larkspur/start.ts'), 'src/')).toBe(false);
});

/** A chunk and those that it loads with itself. Chunks that it loads on demand are imported by a call. */
function reachable(chunk: string, visited = new Set<string>()): Set<string> {
  if (visited.has(chunk)) return visited;
  visited.add(chunk);
  const code = readFileSync(join(bundle, chunk), 'utf8');
  for (const [, target = ''] of code.matchAll(/^(?:import|export)\b[^;'"]*["'](\.[^"']+)["'];/gm)) {
    reachable(join(dirname(chunk), target), visited);
  }
  return visited;
}

function chunkWith(source: string): string {
  const chunks = readdirSync(bundle, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'));
  const chunk = chunks.find((name) => sources(name).some((each) => each.endsWith(`/${source}`)));
  if (chunk === undefined) throw new Error(`No chunk contains ${source}.`);
  return chunk;
}

function contains(chunk: string, folder: string): boolean {
  return sources(chunk).some((source) => source.replace(/^(\.\.\/)+/, '').startsWith(folder));
}

/** The files of the repository in a chunk; none if it only passes on what others export. */
function sources(chunk: string): string[] {
  try {
    return JSON.parse(readFileSync(join(bundle, `${chunk}.map`), 'utf8')).sources;
  } catch {
    return [];
  }
}
