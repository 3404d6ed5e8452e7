/** The position in a trace, as in the header `traceparent` of W3C Trace Context. */
export type TracePosition = { trace_id: string; span_id: string; flags: number };

const sampled_flag = 0x01;

/** Undefined if the header is missing or invalid. `tracestate`, in which any text may appear, is never read. */
export function parseTraceparent(header: string | null | undefined): TracePosition | undefined {
  // Later versions may append fields; version ff is invalid.
  const found = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header?.trim() ?? '');
  if (!found) return undefined;
  const [, version = '', trace_id = '', span_id = '', flags = '', more] = found;
  if (/^0+$/.test(trace_id) || /^0+$/.test(span_id) || (version === '00' && more !== undefined)) return undefined;
  return { trace_id, span_id, flags: Number.parseInt(flags, 16) };
}

export function formatTraceparent({ trace_id, span_id, flags }: TracePosition): string {
  return `00-${trace_id}-${span_id}-${flags.toString(16).padStart(2, '0')}`;
}

export function isSampled({ flags }: TracePosition): boolean {
  return (flags & sampled_flag) !== 0;
}

/** The id under which a collector has the trace; null if it was not recorded. */
export function recordedTraceId(traceparent: string | null): string | null {
  const position = parseTraceparent(traceparent);
  return position && isSampled(position) ? position.trace_id : null;
}
