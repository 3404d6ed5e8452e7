/** A test of `npm test`, by its file and a part of its title as the file spells it. */
export type TestReference = { file: string; title: string };

/** One promise: what happens, what the service guarantees then, and what checks it. */
export type PromiseRow = {
  row: number;
  fault: string;
  /** How much a long run should do. Shorter runs do less; the report shows both. */
  goal?: string;
  promise: string;
  /** The short form, in `npm test`. */
  tests: readonly TestReference[];
  /** What is not measured or not tested yet. */
  open?: string;
};

export function test(file: string, ...titles: string[]): TestReference[] {
  return titles.map((title) => ({ file: `test/${file}.test.ts`, title }));
}
