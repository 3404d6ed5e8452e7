import { type Static, Type } from 'typebox';
import { reasons } from './events/event.ts';
import { choices, nullable } from './fields.ts';

/** What a write would do in the EMR. */
export const WouldDo = Type.Object(
  {
    action: choices(
      {
        create: 'A record would be added',
        update: 'A record would be changed; with `field`, this field of it',
        read: 'Records would be read, as by a live fetch',
        fail: 'The job would fail here, for the `reasons`',
      },
      { description: 'What would happen' },
    ),
    resource: Type.String({ description: 'The kind of record', examples: ['patient'] }),
    field: Type.Optional(Type.String({ description: 'The field’s name in the request', examples: ['phone'] })),
    before: Type.Optional(
      nullable(Type.String({ description: 'The value in the EMR; null if there is none', examples: ['518-555-0100'] })),
    ),
    after: Type.Optional(
      nullable(Type.String({ description: 'The value that would be saved', examples: ['518-555-0191'] })),
    ),
    reasons: { ...reasons, description: 'Why the job would fail; empty otherwise' },
  },
  { schema_name: 'WouldDo', description: 'A part of what a write would do' },
);
export type WouldDo = Static<typeof WouldDo>;

export const dry_run = Type.Optional(
  Type.Boolean({
    description:
      'Only checks the request, in the EMR too, and returns what the write would do (`DryRun`). Nothing is stored. Default: false',
    not_in_examples: true,
  }),
);

/** The response to a dry run. */
export const DryRun = Type.Object(
  {
    success: Type.Literal(true, { description: 'Always true' }),
    dry_run: Type.Literal(true, { description: 'Always true' }),
    emr_checked: Type.Boolean({ description: 'Whether the EMR could be asked about all of it within 10 seconds' }),
    would: Type.Array(WouldDo, { description: 'What the write would do, in order' }),
  },
  { schema_name: 'DryRun', description: 'What a write would do' },
);
export type DryRun = Static<typeof DryRun>;
