import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** One testable statement of the interface, and the tests of `test/spec/` that are titled with its id. */
export type Row = { id: string; section: string; statement: string; tests: RowTest[] };
export type RowTest = { title: string; file: string; line: number };

const folder = 'test/spec';

/** Every row of `test/spec/rows.tsv` in its order, with the tests that carry its id. */
export async function readConformance(root: string): Promise<Row[]> {
  const tests = await readTests(root);
  const lines = (await readFile(join(root, folder, 'rows.tsv'), 'utf8')).trimEnd().split('\n').slice(1);
  return lines.map((line) => {
    const [id = '', section = '', statement = ''] = line.split('\t');
    return { id, section, statement, tests: tests.filter(({ title }) => title.startsWith(`${id} `)) };
  });
}

/** The titles of all tests below `test/spec/`, read from their sources: a title is a plain string there. */
export async function readTests(root: string): Promise<RowTest[]> {
  const files = (await readdir(join(root, folder), { recursive: true })).filter((name) => name.endsWith('.test.ts'));
  const found: RowTest[] = [];
  for (const name of files.sort()) {
    const source = await readFile(join(root, folder, name), 'utf8');
    for (const match of source.matchAll(/\btest\(\s*(['"`])((?:\\.|(?!\1)[\s\S])*)\1/g)) {
      const title = (match[2] ?? '').replace(/\\(.)/g, '$1');
      const line = source.slice(0, match.index).split('\n').length;
      found.push({ title, file: `${folder}/${name}`, line });
    }
  }
  return found;
}
