import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { endpoint, JsonText } from '../../../http/endpoint.ts';
import { Change, followed_kinds } from '../../../model/changes.ts';
import { success, sync_state, text } from '../../../model/fields.ts';
import type { KindName } from '../../../model/records/kinds.ts';
import { readChanges } from '../../../product/records/changes.ts';
import { for_reads } from '../limitedSecrets.ts';

const names = followed_kinds.map(({ name }) => name);

export const changesList = endpoint({
  id: 'changes.list',
  surface: 'api',
  group: 'Changes',
  method: 'GET',
  path: '/v1/changes',
  auth: 'account',
  limited_secrets: for_reads,
  summary: 'List changes',
  description:
    'Returns the current records of the organization, then what changes, in the order of the changes. Store `next_cursor` with your copy and send it as `cursor` to continue. Every change appears at least once; a record that changed several times appears in its current state. After 410 `cursor_expired`, start again without a cursor.',
  query: Type.Object({
    kinds: Type.Optional(
      text({
        minLength: 1,
        description: `Kinds of records, comma-separated: ${names.join(', ')}. Default: all, or those of the cursor`,
        examples: ['patients,appointments'],
      }),
    ),
    cursor: Type.Optional(
      text({
        maxLength: 2000,
        description:
          '`next_cursor` of the previous page, or `latest` for changes from now on. Empty or absent: from the beginning',
        not_in_examples: true,
      }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, default: 200, description: 'Maximum number of changes to return' }),
    ),
  }),
  response: Type.Object({
    success,
    changes: Type.Array(Change, { description: 'The changes, oldest first' }),
    next_cursor: Type.String({
      description: 'The value of `cursor` for what follows; valid for 30 days',
      examples: ['b1Zt0cVbYjJmMTk0ZTIwM2Q'],
    }),
    has_more: Type.Boolean({ description: 'Whether more changes can be read now', examples: [false] }),
    sync: sync_state,
  }),
  errors: ['cursor_expired'],
  handle: async ({ ctx, account, query: { kinds, cursor, limit = 200 }, auditPatients }) => {
    const { body, mrns } = await readChanges(ctx, account, {
      kinds: kinds === undefined ? undefined : parseKinds(kinds),
      cursor,
      limit,
    });
    auditPatients(mrns);
    return new JsonText(body);
  },
});

function parseKinds(list: string): KindName[] {
  const kinds = list.split(',').map((each) => {
    const kind = names.find((name) => name === each.trim());
    if (kind) return kind;
    const rule = `kinds contains an unknown kind: ${each.trim()}. Kinds are: ${names.join(', ')}`;
    throw apiError('invalid_field', { rule }, { field: 'kinds' });
  });
  return [...new Set(kinds)];
}
