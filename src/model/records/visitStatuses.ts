import { recordKind } from './recordKind.ts';
import { VisitCode, VisitCodeSource } from './visitTypes.ts';

export const visitStatuses = recordKind({
  name: 'visit_statuses',
  operation: 'listVisitStatuses',
  consent: null,
  source: VisitCodeSource,
  wire: VisitCode,
  labels: { singular: 'visit status', plural: 'visit statuses' },
  group: 'Practice',
  row: ({ code, description }) => ({ doc: { code, description } }),
  list: { returns: 'all', summary: 'List visit statuses' },
});
