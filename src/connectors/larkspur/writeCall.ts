import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { EmrFailure, type EmrWrite } from '../connector.ts';
import { answerOf, path, unreadable } from './call.ts';
import type { Ask } from './session.ts';
import { id, text, textOrNull } from './values.ts';

const Receipt = Type.Object({
  recordId: id,
  mrn: Type.Optional(id),
  corrections: Type.Array(Type.Object({ field: text, sent: Type.Unknown(), saved: Type.Unknown(), note: text })),
  changes: Type.Array(Type.Object({ record: text, field: text, label: text, before: textOrNull, after: textOrNull })),
});
/** Larkspur's response to a write. It can be requested again by marker. */
export type Receipt = Static<typeof Receipt>;
const receipt = Compile(Receipt);

type InputOf<Write> = Write extends EmrWrite<infer Input, infer _Output> ? Input : never;
type OutputOf<Write> = Write extends EmrWrite<never, infer Output> ? Output : never;

/**
 * Larkspur stores our marker as `externalRef` and accepts it once per operation. A write that is still in progress when
 * `find` returns nothing cannot be duplicated: the second request waits for the first and gets its record.
 */
export function write<Write extends EmrWrite<never, { ehr_id: string }>>(
  operation: string,
  labelOf: (input: InputOf<Write>) => { path: string; body: Record<string, unknown> },
  outputOf: (receipt: Receipt) => OutputOf<Write>,
) {
  return (ask: Ask): Required<EmrWrite<InputOf<Write>, OutputOf<Write>>> => {
    const find = async (marker: string): Promise<OutputOf<Write> | undefined> => {
      const asked = path`/api/receipts/${operation}/${marker}`;
      const reply = await ask({ method: 'GET', path: asked, answer: receipt });
      if ('answer' in reply) return outputOf(reply.answer);
      if (reply.code === 'NOT_FOUND') return undefined;
      // Any other failure leaves open whether the write arrived.
      throw new EmrFailure('unavailable', reply.failure.message);
    };
    return {
      send: async (input, marker) => {
        const { path, body } = labelOf(input);
        const sent = { ...body, externalRef: marker };
        const reply = await ask({ method: 'POST', path, body: sent, answer: receipt, writes: true });
        if (!('code' in reply) || reply.code !== 'DUPLICATE_REFERENCE') return outputOf(answerOf(reply));
        // An earlier attempt arrived. Its receipt has the result; if it cannot be read now, the next attempt reads it.
        const before = await find(marker).catch(() => undefined);
        if (!before) throw new EmrFailure('unknown_outcome', unreadable);
        return before;
      },
      find,
    };
  };
}

export function toWritten({ recordId }: Receipt): { ehr_id: string } {
  return { ehr_id: recordId };
}
