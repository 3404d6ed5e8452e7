import { setImmediate as nextTurn } from 'node:timers/promises';

/** `values_max` counts numbers, texts, objects, arrays and field names: each takes memory of its own once parsed. */
export type JsonLimits = { depth_max: number; values_max: number };

/** JSON that exceeds a limit. Found before parsing: 16 MB of `[[[…` would take 700 MB as objects. */
export class JsonTooComplex extends Error {
  readonly limit: keyof JsonLimits;
  constructor(limit: keyof JsonLimits) {
    super(`The JSON exceeds ${limit}.`);
    this.name = 'JsonTooComplex';
    this.limit = limit;
  }
}

/** Parses JSON within the limits. Throws SyntaxError, JsonTooComplex, or TypeError if it is not UTF-8. */
export function parseJson(bytes: Buffer, limits: JsonLimits): unknown {
  scan(bytes, limits).advance(bytes.length);
  return JSON.parse(decode(bytes));
}

/**
 * The same for large texts from outside, in parts between which other work runs: a page of 16 MB would otherwise stop
 * the process for a quarter of a second. A worker thread would not help, because receiving the result takes as long as
 * parsing it.
 */
export async function parseJsonInParts(bytes: Buffer, limits: JsonLimits): Promise<unknown> {
  if (bytes.length <= part_bytes) return parseJson(bytes, limits);
  const scanned = scan(bytes, limits);
  for (let at = 0; at < bytes.length; at += scan_bytes) {
    scanned.advance(Math.min(at + scan_bytes, bytes.length));
    await nextTurn();
  }
  const root = scanned.root();
  // Only small objects and arrays, or one long string.
  if (!root) return JSON.parse(decode(bytes));
  const around = decode(bytes.subarray(0, root.start)) + decode(bytes.subarray(root.end + 1));
  if (!isBlank(around)) throw new SyntaxError('There is text around the JSON.');
  return build(bytes, root);
}

const part_bytes = 65_536;
const scan_bytes = 262_144;

/** An object or array of more than `part_bytes`, with the commas between its elements and the large ones among these. */
type Container = { start: number; end: number; object: boolean; commas: number[]; large: Container[] };

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [open_array, close_array, open_object, close_object] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Checks the limits and finds the large containers in one pass. What is not JSON is left to the parser. */
function scan(bytes: Buffer, { depth_max, values_max }: JsonLimits) {
  const open: Container[] = [];
  let root: Container | undefined;
  let at = 0;
  let values = 1;
  let in_string = false;
  const close = (object: boolean) => {
    const closed = open.pop();
    if (closed?.object !== object) throw new SyntaxError('The brackets do not match.');
    closed.end = at;
    if (closed.end - closed.start < part_bytes) return;
    const parent = open.at(-1);
    if (parent) parent.large.push(closed);
    else root = closed;
  };
  return {
    advance: (to: number) => {
      for (; at < to; at++) {
        const byte = bytes[at];
        if (in_string) {
          // May skip over `to`: the next call continues from there.
          if (byte === backslash) at++;
          else if (byte === quote) in_string = false;
        } else if (byte === quote) in_string = true;
        else if (byte === comma || byte === colon) {
          if (byte === comma) open.at(-1)?.commas.push(at);
          if (++values > values_max) throw new JsonTooComplex('values_max');
        } else if (byte === open_array || byte === open_object) {
          if (open.length === depth_max) throw new JsonTooComplex('depth_max');
          if (root) throw new SyntaxError('There is text after the JSON.');
          open.push({ start: at, end: at, object: byte === open_object, commas: [], large: [] });
          if (++values > values_max) throw new JsonTooComplex('values_max');
        } else if (byte === close_array || byte === close_object) close(byte === close_object);
      }
    },
    root: () => {
      if (open.length > 0 || in_string) throw new SyntaxError('The JSON is incomplete.');
      return root;
    },
  };
}

/**
 * The path of a name that occurs twice in an object of valid JSON, `documents[0].filename`; undefined if there is none.
 * JSON.parse takes the last one, so that the reader of a request would see another value than its author meant.
 */
export function findRepeatedName(bytes: Buffer): string | undefined {
  const open: { names: Set<string> | undefined; name: string; index: number }[] = [];
  let string_from = 0;
  let string_end = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    const inner = open.at(-1);
    if (byte === quote) {
      string_from = at++;
      while (bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
      string_end = at + 1;
    } else if (byte === colon && inner?.names) {
      inner.name = JSON.parse(decode(bytes.subarray(string_from, string_end)));
      if (inner.names.has(inner.name)) return formatPath(open);
      inner.names.add(inner.name);
    } else if (byte === comma && inner) inner.index++;
    else if (byte === open_object || byte === open_array)
      open.push({ names: byte === open_object ? new Set() : undefined, name: '', index: 0 });
    else if (byte === close_object || byte === close_array) open.pop();
  }
  return undefined;
}

function formatPath(open: readonly { names: Set<string> | undefined; name: string; index: number }[]): string {
  return open.reduce((path, { names, name, index }) => {
    if (!names) return `${path}[${index}]`;
    return path === '' ? name : `${path}.${name}`;
  }, '');
}

async function build(bytes: Buffer, { start, end, object, commas, large }: Container): Promise<unknown> {
  if (commas.length + large.length === 0) return JSON.parse(decode(bytes.subarray(start, end + 1)));
  const edges = [start, ...commas, end];
  const entries: [string, unknown][] = [];
  const elements: unknown[] = [];
  const add = (parsed: unknown) => {
    if (Array.isArray(parsed)) for (const element of parsed) elements.push(element);
    else for (const entry of Object.entries(parsed as object)) entries.push(entry);
  };
  const remaining = [...large];
  let first = 0;
  for (let last = 0; last < edges.length - 1; last++) {
    const [from, to] = [(edges[first] ?? 0) + 1, edges[last + 1] ?? end];
    const [child] = remaining;
    if (child && child.start < to) {
      // Large ones stand alone: `child` is the element that ends at this comma.
      if (first !== last) {
        add(parsePart(bytes, from, edges[last] ?? end, object));
        first = last;
      }
      const key = keyBefore(bytes, child, { from: (edges[last] ?? start) + 1, to, object });
      const value = await build(bytes, child);
      if (object) entries.push([key, value]);
      else elements.push(value);
      remaining.shift();
      first = last + 1;
    } else if (to - from >= part_bytes || last === edges.length - 2) {
      add(parsePart(bytes, from, to, object));
      first = last + 1;
      await nextTurn();
    }
  }
  // Not by assignment, which would treat the name __proto__ differently from JSON.parse.
  return object ? Object.fromEntries(entries) : elements;
}

function parsePart(bytes: Buffer, from: number, to: number, object: boolean): unknown {
  const text = decode(bytes.subarray(from, to));
  // The parser would accept it in brackets, but it stands between commas.
  if (isBlank(text)) throw new SyntaxError('An element is missing.');
  return JSON.parse(object ? `{${text}}` : `[${text}]`);
}

/** The field name of a large value; checks that nothing else is next to it between `from` and `to`. */
function keyBefore(
  bytes: Buffer,
  { start, end }: Container,
  { from, to, object }: { from: number; to: number; object: boolean },
): string {
  const before = decode(bytes.subarray(from, start));
  const after = decode(bytes.subarray(end + 1, to));
  if (!isBlank(after) || (!object && !isBlank(before))) throw new SyntaxError('A comma is missing.');
  return object ? (Object.keys(JSON.parse(`{${before}null}`))[0] ?? '') : '';
}

/** Fatal, because a replacement character would change a name in a chart. */
function decode(bytes: Buffer): string {
  return decoder.decode(bytes);
}

/** One for all texts: creating it takes twenty times as long as decoding a request. */
const decoder = new TextDecoder('utf-8', { fatal: true });

function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text);
}
