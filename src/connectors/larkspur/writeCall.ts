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
/** What Larkspur answers to a write, and again when it is asked for its receipt. */
export type Receipt = Static<typeof Receipt>;
const receipt = Compile(Receipt);

type InputOf<Write> = Write extends EmrWrite<infer Input, infer _Output> ? Input : never;
type OutputOf<Write> = Write extends EmrWrite<never, infer Output> ? Output : never;

/**
 * Larkspur keeps our marker as `externalRef` and takes it once for each operation, so a write that is still on its way
 * when `find` says no cannot be doubled: the second waits for the first and is told of its record.
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
      // Whatever it is, it does not tell whether the write is there: the question stays open.
      throw new EmrFailure('unavailable', reply.failure.message);
    };
    return {
      send: async (input, marker) => {
        const { path, body } = labelOf(input);
        const sent = { ...body, externalRef: marker };
        const reply = await ask({ method: 'POST', path, body: sent, answer: receipt, writes: true });
        if (!('code' in reply) || reply.code !== 'DUPLICATE_REFERENCE') return outputOf(answerOf(reply));
        // It arrived before this one did: its receipt says what became of it, or is asked for at the next try.
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
