import { type Static, Type } from 'typebox';
import { nullable } from '../fields.ts';
import { recordKind } from './recordKind.ts';

/** A visit type or visit status of an EMR instance. */
export const VisitCode = Type.Object(
  {
    code: Type.String({ description: 'The EMR’s code', examples: ['OV'] }),
    description: Type.String({ description: 'Description of the code', examples: ['Office visit'] }),
  },
  { schema_name: 'VisitCode', description: 'A visit type or visit status of the EMR instance' },
);
export type VisitCode = Static<typeof VisitCode>;

export const VisitCodeSource = Type.Object({
  ehr_id: Type.String(),
  ...VisitCode.properties,
  minutes: nullable(Type.Integer({ description: 'Default length of a visit of this type' })),
});
export type VisitCodeSource = Static<typeof VisitCodeSource>;

export const visitTypes = recordKind({
  name: 'visit_types',
  operation: 'listVisitTypes',
  consent: null,
  source: VisitCodeSource,
  wire: VisitCode,
  labels: { singular: 'visit type', plural: 'visit types' },
  group: 'Practice',
  row: ({ code, description, minutes }) => ({ doc: { code, description }, minutes }),
  list: { returns: 'all', summary: 'List visit types' },
});
