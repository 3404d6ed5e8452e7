import { Type } from 'typebox';
import { endpoint } from '../http/endpoint.ts';
import { readPageState } from '../link/pageSignIns.ts';
import { success } from '../model/fields.ts';

/** Link asks again and again: a page of the EMR may cut every other tie between its window and ours. */
export default endpoint({
  id: 'link.page-sign-in.get',
  method: 'GET',
  path: '/link/v1/oauth/state',
  auth: 'link',
  // Asked several times a minute, and about nobody but who asks.
  audited: false,
  summary: 'What has become of the sign-in on the page of the EMR',
  response: Type.Object({
    success,
    state: Type.Union(['none', 'waiting', 'returned', 'signed_in', 'failed'].map((each) => Type.Literal(each))),
    failure: Type.Union([Type.String(), Type.Null()]),
  }),
  handle: async ({ ctx, client, link }) => ({ success: true, ...(await readPageState(ctx, client.id, link.token)) }),
});
