/** What a model gets from one call: enough for about 60 claims, and a small part of a model's context. */
export const result_bytes_max = 50_000;
/** Room for the note about what is missing. */
const note_bytes = 500;

/**
 * The result as JSON text. If it is too large, its longest list is shortened, and a note says how to get the rest,
 * which depends on the parameters that the operation takes.
 */
export function boundResult(result: object, parameters: readonly string[]): string {
  const text = JSON.stringify(result);
  const bytes = Buffer.byteLength(text);
  if (bytes <= result_bytes_max) return text;
  const list = longestList(result);
  const room = list === undefined ? 0 : result_bytes_max - note_bytes - (bytes - list.bytes);
  const fitting = list === undefined ? 0 : countFitting(list.values, room);
  if (list === undefined || fitting === 0) {
    const note = `Truncated: the result has ${bytes} bytes, of which the first ${result_bytes_max - note_bytes} follow.`;
    return `${note}\n${Buffer.from(text)
      .subarray(0, result_bytes_max - note_bytes)
      .toString('utf8')}`;
  }
  const { shown, note, ...changed } = continuation(result, { fitting, total: list.values.length, parameters });
  // `values` is part of `result`, which belongs to this call alone.
  list.values.length = shown;
  return JSON.stringify({ truncated: note, ...result, ...changed });
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
