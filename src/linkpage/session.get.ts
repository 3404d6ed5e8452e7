import { Type } from 'typebox';
import { findClient } from '../clients/clients.ts';
import { endpoint } from '../http/endpoint.ts';
import { describeLink } from '../link/describeLink.ts';
import { success } from '../model/fields.ts';

const nullable = Type.Union([Type.String(), Type.Null()]);

/** What the page draws itself from. It is the page's own: its shape may change with the page. */
export default endpoint({
  id: 'link.session.get',
  method: 'GET',
  path: '/link/v1/session',
  auth: 'link',
  summary: 'What a run of Link is for, and what the person is asked',
  response: Type.Object({
    success,
    emr: Type.String(),
    organization: Type.String(),
    emr_host: Type.String(),
    update: Type.Boolean(),
    fields: Type.Array(
      Type.Object({
        name: Type.String(),
        label: Type.String(),
        secret: Type.Boolean(),
        autocomplete: Type.String(),
        optional: Type.Boolean(),
        known: Type.Boolean(),
        value: nullable,
      }),
    ),
    /** Empty where there is one way to sign in. */
    ways: Type.Array(
      Type.Object({
        name: Type.String(),
        label: Type.String(),
        auditSubject: Type.String(),
        fields: Type.Array(Type.String()),
        on_page: Type.Boolean(),
        tells: Type.Union([Type.Object({ what: Type.String(), value: Type.String() }), Type.Null()]),
      }),
    ),
    /** That of the account which is linked again. */
    way: nullable,
    resend_code: Type.Boolean(),
    language: nullable,
    returns: Type.Boolean(),
    client: Type.Object({ name: Type.String(), logo: nullable, colour: nullable }),
  }),
  handle: async ({ ctx, client, link }) => {
    const page = await findClient(ctx, client.id);
    return {
      success: true,
      ...(await describeLink(ctx, link.purpose)),
      client: { name: client.name, logo: page?.logo ?? null, colour: page?.colour ?? null },
    };
  },
});
