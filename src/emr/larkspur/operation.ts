import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { EmrFailure } from '../emrFailure.ts';
import type { EmrWrite, InputOf, OutputOf } from '../operations/operation.ts';
import type { Implementation } from '../operations/operations.ts';
import { path, requireBody } from './call.ts';
import { type List, readPages } from './lists.ts';
import type { SendRequest } from './session.ts';
import { id, text, textOrNull, unreadable_response } from './values.ts';

const Receipt = Type.Object({
  recordId: id,
  mrn: Type.Optional(id),
  corrections: Type.Array(Type.Object({ field: text, sent: Type.Unknown(), saved: Type.Unknown(), note: text })),
  changes: Type.Array(Type.Object({ record: text, field: text, label: text, before: textOrNull, after: textOrNull })),
});
/** Larkspur's response to a write. It can be requested again by marker. */
export type Receipt = Static<typeof Receipt>;
const receipt = Compile(Receipt);

export type LarkspurOperation = Implementation<SendRequest, never>;

export function listing<Row, Source extends { ehr_id: string }>(list: List<Row, Source>) {
  return (request: SendRequest) => () => readPages(request, list);
}

export function reading<Key, Result>(read: (request: SendRequest, key: Key) => Promise<Result>) {
  return (request: SendRequest) => (key: Key) => read(request, key);
}

/**
 * Larkspur stores our marker as `externalRef` and accepts it once per operation. A write that is still in progress when
 * `find` returns nothing cannot be duplicated: the second request waits for the first and gets its record.
 */
export function defineWrite<Write extends EmrWrite<never, { ehr_id: string }>>(
  operation: string,
  toRequest: (input: InputOf<Write>) => { path: string; body: Record<string, unknown> },
  toOutput: (receipt: Receipt, request: SendRequest) => OutputOf<Write> | Promise<OutputOf<Write>>,
) {
  return (request: SendRequest): Required<Pick<EmrWrite<InputOf<Write>, OutputOf<Write>>, 'send' | 'find'>> => {
    const find = async (marker: string): Promise<OutputOf<Write> | undefined> => {
      const url = path`/api/receipts/${operation}/${marker}`;
      const reply = await request({ method: 'GET', path: url, schema: receipt });
      if ('body' in reply) return toOutput(reply.body, request);
      if (reply.code === 'NOT_FOUND') return undefined;
      // Any other failure leaves open whether the write arrived.
      throw new EmrFailure('unavailable', reply.failure.message);
    };
    return {
      send: async (input, marker) => {
        const { path, body } = toRequest(input);
        const sent = { ...body, externalRef: marker };
        const reply = await request({ method: 'POST', path, body: sent, schema: receipt, writes: true });
        if (!('code' in reply) || reply.code !== 'DUPLICATE_REFERENCE') return toOutput(requireBody(reply), request);
        // An earlier attempt arrived. Its receipt has the result; if it cannot be read now, the next attempt reads it.
        const earlier = await find(marker).catch(() => undefined);
        if (!earlier) throw new EmrFailure('unknown_outcome', unreadable_response);
        return earlier;
      },
      find,
    };
  };
}

export function toWritten({ recordId }: Receipt): { ehr_id: string } {
  return { ehr_id: recordId };
}
