import { Compile, type EmrWrite, type Implementation, type InputOf, type OutputOf, Type } from '@chartwire/connector';
import { path, type Send } from './session.js';

/** An operation of Chartwire and how this EMR carries it out. `never`: all servers of this EMR support the same. */
export type ExampleEmrOperation = Implementation<Send, never>;

const Stored = Type.Object({ id: Type.String({ minLength: 1 }), mrn: Type.Optional(Type.String({ minLength: 1 })) });
const stored = Compile(Stored);
export type Stored = { id: string; mrn?: string | undefined };

/**
 * A write. The EMR stores Chartwire's marker as `reference`, and returns the earlier record if it has one with it. So
 * nothing is written twice, and `find` can tell whether a write arrived whose response was lost.
 */
export function defineWrite<Write extends EmrWrite<never, { ehr_id: string }>>(
  toRequest: (input: InputOf<Write>) => { path: string; body: Record<string, unknown> },
  toOutput: (record: Stored) => OutputOf<Write>,
) {
  return (send: Send): Required<Pick<EmrWrite<InputOf<Write>, OutputOf<Write>>, 'send' | 'find'>> => ({
    send: async (input, marker) => {
      const { path: to, body } = toRequest(input);
      const sent = { ...body, reference: marker };
      return toOutput(await send({ method: 'POST', path: to, body: sent, shape: stored, writes: true }));
    },
    find: async (marker) => {
      const record = await send({
        method: 'GET',
        path: path`/api/references/${marker}`,
        shape: stored,
        optional: true,
      });
      return record && toOutput(record);
    },
  });
}
