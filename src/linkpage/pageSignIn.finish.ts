import { Type } from 'typebox';
import { endpoint } from '../http/endpoint.ts';
import { finishPageSignIn } from '../link/finishPageSignIn.ts';
import { success, text } from '../model/fields.ts';

/** Nobody need be known: the state in the query and what the window was told are 256 random bits each. */
export default endpoint({
  id: 'link.page-sign-in.finish',
  method: 'POST',
  path: '/link/v1/oauth/finish',
  auth: 'none',
  summary: 'Take up what a person brought back from a page of the EMR',
  body: Type.Object({ query: Type.String({ maxLength: 8000 }), window: text() }),
  response: Type.Object({ success }),
  handle: async ({ ctx, body }) => {
    await finishPageSignIn(ctx, body.query, body.window);
    return { success: true };
  },
});
