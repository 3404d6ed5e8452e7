import type { VisitCodeSource } from '../model/records/visitTypes.ts';
import type { RecordKind } from './recordKind.ts';

export const visitTypes: RecordKind<VisitCodeSource> = {
  table: 'visit_types',
  list: (operations) => operations.listVisitTypes,
  keeps: [],
  row: ({ code, description, minutes }) => ({ doc: { code, description }, minutes }),
};

export const visitStatuses: RecordKind<VisitCodeSource> = {
  table: 'visit_statuses',
  list: (operations) => operations.listVisitStatuses,
  keeps: [],
  row: ({ code, description }) => ({ doc: { code, description } }),
};
