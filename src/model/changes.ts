import { type TSchema, Type } from 'typebox';
import { choices, date_time, id, nullable } from './fields.ts';
import { record_kinds } from './records/kinds.ts';

/** The kinds whose changes `GET /v1/changes` has. */
export const followed_kinds = record_kinds.filter((kind) => kind.in_change_feed);

const kinds = Object.fromEntries(
  followed_kinds.map(({ name, labels }) => [name, `A change of ${article(labels.singular)}`]),
);

export const Change = Type.Object(
  {
    kind: choices(kinds, { description: 'Kind of the record' }),
    id: Type.String({ ...id, description: 'Chartwire’s ID of the record' }),
    emr_id: nullable(
      Type.String({
        description:
          'The EMR’s ID of the record; null while the EMR does not have it, and after the patient was erased',
        examples: ['400022'],
      }),
    ),
    op: choices(
      { upsert: 'The record was added or changed; `record` has its current state', delete: 'The record was deleted' },
      { description: 'What to do with your copy' },
    ),
    changed_at: Type.String({ ...date_time, description: 'When the record last changed' }),
    record: nullable(
      Type.Union(
        followed_kinds.map(({ wire }): TSchema => wire),
        { description: 'The record as its kind’s other endpoints return it' },
      ),
      { description: 'The current state of the record; null if it was deleted' },
    ),
  },
  { schema_name: 'Change', description: 'The last change of a record' },
);

function article(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}
