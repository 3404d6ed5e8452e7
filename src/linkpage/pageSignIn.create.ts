import { Type } from 'typebox';
import { endpoint } from '../http/endpoint.ts';
import { startPageSignIn } from '../link/startPageSignIn.ts';
import { credential_max, success, text } from '../model/fields.ts';

/** Asked for by the window that is about to go to the EMR's page. */
export default endpoint({
  id: 'link.page-sign-in.create',
  method: 'POST',
  path: '/link/v1/oauth/start',
  auth: 'link',
  summary: 'Begin a sign-in on a page of the EMR',
  body: Type.Object({ credentials: Type.Record(Type.String(), text({ maxLength: credential_max })) }),
  response: Type.Object({
    success,
    /** Where the window goes. */
    url: Type.String(),
    /** What it has to show when it comes back. */
    window: Type.String(),
  }),
  handle: async ({ ctx, link, body }) => ({ success: true, ...(await startPageSignIn(ctx, link, body.credentials)) }),
});
