/** What a model gets from one call: enough for about 60 claims, and a small part of a model's context. */
export const result_bytes_max = 50_000;
/** Room for the note about what is missing. */
const note_bytes = 500;

/**
 * The result as JSON text, always complete JSON. If it is too large, its longest list is shortened, and a note says how
 * to get the rest, which depends on the parameters that the operation takes. If even one record is too large, what it
 * contains is shortened.
 */
export function boundResult(sent: object, parameters: readonly string[]): string {
  const result = withoutCopies(sent);
  const text = JSON.stringify(result);
  const bytes = Buffer.byteLength(text);
  if (bytes <= result_bytes_max) return text;
  const list = longestList(result);
  const room = list === undefined ? 0 : result_bytes_max - note_bytes - (bytes - list.bytes);
  const fitting = list === undefined ? 0 : countFitting(list.values, room);
  if (list === undefined || fitting === 0) {
    const note = `One record is larger than ${result_bytes_max} bytes. Shortened: ${shorten(result).join(', ')}.`;
    return JSON.stringify({ truncated: note, ...result });
  }
  const { shown, note, ...changed } = continuation(result, { fitting, total: list.values.length, parameters });
  // `values` is part of `result`, which belongs to this call alone.
  list.values.length = shown;
  return JSON.stringify({ truncated: note, ...result, ...changed });
}

/**
 * Without the fields that repeat those of the only element of a list, and without an inner object that repeats fields. The API sends some twice, so
 * that clients of both generations find them.
 */
function withoutCopies(result: object): Record<string, unknown> {
  const shown: Record<string, unknown> = Object.fromEntries(
    Object.entries(result).map(([name, value]) => [name, isRecord(value) ? withoutCopies(value) : value]),
  );
  for (const [holder, value] of Object.entries(shown)) {
    const inner = Array.isArray(value) && value.length === 1 ? value[0] : value;
    const fields = isRecord(inner) ? Object.entries(inner) : [];
    const repeated = fields.every(
      ([name, each]) => name !== holder && JSON.stringify(shown[name]) === JSON.stringify(each),
    );
    if (!repeated || fields.length === 0) continue;
    // The record in a list is complete; an inner object has nothing of its own.
    if (Array.isArray(value)) for (const [name] of fields) delete shown[name];
    else delete shown[holder];
  }
  return shown;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A list with several elements or a long text, which can be shortened, and how. */
type Part = { path: string; bytes: number; shorten: (room: number) => string };

/** Shortens the largest lists and texts until the result fits, and returns what was left out. */
function shorten(result: object): string[] {
  const shortened: string[] = [];
  // Room for a note about each of several parts.
  const room = result_bytes_max - 4 * note_bytes;
  for (;;) {
    const bytes = Buffer.byteLength(JSON.stringify(result));
    const [part] = partsOf(result, '').sort((a, b) => b.bytes - a.bytes);
    if (bytes <= room || !part) return shortened;
    shortened.push(`${part.path} (${part.shorten(room - (bytes - part.bytes))})`);
  }
}

function partsOf(value: unknown, path: string): Part[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Array.isArray(value) && value.length > 1 ? [listPart(value, path)] : [];
  const inner = Object.entries(value).flatMap(([name, each]) => {
    const place = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    const text = typeof each === 'string' && each.length > text_kept ? [textPart(value, name, each, place)] : [];
    return [...text, ...partsOf(each, place)];
  });
  return [...own, ...inner];
}

function listPart(values: unknown[], path: string): Part {
  return {
    path,
    bytes: Buffer.byteLength(JSON.stringify(values)),
    shorten: (room) => {
      const total = values.length;
      values.length = Math.min(Math.max(1, countFitting(values, room)), total - 1);
      return `first ${values.length} of ${total}`;
    },
  };
}

/** Characters that are kept of a text that is too long. */
const text_kept = 500;

function textPart(parent: object, name: string, text: string, path: string): Part {
  return {
    path,
    bytes: Buffer.byteLength(JSON.stringify(text)),
    shorten: () => {
      Object.assign(parent, { [name]: text.slice(0, text_kept) });
      return `first ${text_kept} of ${text.length} characters`;
    },
  };
}

type List = { values: unknown[]; bytes: number };

function longestList(value: unknown): List | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const inner = Array.isArray(value) ? [] : Object.values(value).map(longestList);
  const own = Array.isArray(value) ? { values: value, bytes: Buffer.byteLength(JSON.stringify(value)) } : undefined;
  return [own, ...inner].reduce((best, each) => ((each?.bytes ?? 0) > (best?.bytes ?? 0) ? each : best), undefined);
}

function countFitting(values: readonly unknown[], room: number): number {
  let used = 2;
  let count = 0;
  for (const value of values) {
    used += Buffer.byteLength(JSON.stringify(value)) + 1;
    if (used > room) break;
    count += 1;
  }
  return count;
}

type Pagination = { page: number; page_size: number; total_count: number };
type Continuation = { shown: number; note: string; pagination?: object };

function continuation(
  { pagination }: { pagination?: Pagination },
  { fitting, total, parameters }: { fitting: number; total: number; parameters: readonly string[] },
): Continuation {
  if (pagination) {
    // A size that divides that of the page, so that the part is itself a page, and the next one continues after it.
    const page_size = largestDivisor(pagination.page_size, fitting);
    const page = ((pagination.page - 1) * pagination.page_size) / page_size + 1;
    const total_pages = Math.ceil(pagination.total_count / page_size);
    return {
      shown: page_size,
      note: `Only the first ${page_size} of ${total} records fit. For the next ones, call again with page ${page + 1} and page_size ${page_size}.`,
      pagination: { ...pagination, page, current_page: page, page_size, total_pages },
    };
  }
  const note = `Only the first ${fitting} of ${total} records fit.`;
  if (parameters.includes('page_size')) {
    return { shown: fitting, note: `${note} Call again with page_size ${fitting}, and follow its pages.` };
  }
  const filters = parameters.length === 0 ? '' : ` Narrow the call with: ${parameters.join(', ')}.`;
  return { shown: fitting, note: `${note}${filters}` };
}

function largestDivisor(value: number, at_most: number): number {
  for (let divisor = Math.min(at_most, value); divisor > 1; divisor -= 1) if (value % divisor === 0) return divisor;
  return 1;
}
