import { Type } from 'typebox';
import { connectors } from '../../connectors/index.ts';
import type { Context } from '../../context.ts';
import { endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'link.emrs.list',
  surface: 'api',
  group: 'Link',
  method: 'GET',
  path: '/link/emrs',
  auth: 'client',
  audited: false,
  summary: 'List supported EMRs',
  response: Type.Object({
    success,
    emrs: Type.Array(
      Type.Object({
        emr_name: Type.String(),
        display_name: Type.String(),
        credential_fields: Type.Array(
          Type.Object({ name: Type.String(), label: Type.String(), secret: Type.Boolean() }),
        ),
        sign_in_ways: Type.Optional(
          Type.Array(Type.Object({ name: Type.String(), label: Type.String(), fields: Type.Array(Type.String()) }), {
            description: 'Sign-in methods. If there are several, `credentials.way` names the one to use',
          }),
        ),
        capabilities: Type.Array(Type.String()),
      }),
    ),
  }),
  example: { response: describeEmrs(connectors) },
  handle: async ({ ctx }) => describeEmrs(ctx.connectors),
});

function describeEmrs(connectors: Context['connectors']) {
  return {
    success: true,
    emrs: [...connectors.values()].map((connector) => ({
      emr_name: connector.name,
      display_name: connector.display_name,
      credential_fields: connector.credential_fields.map(({ name, label, secret }) => ({ name, label, secret })),
      ...(connector.sign_in_ways && {
        sign_in_ways: connector.sign_in_ways.map(({ name, label, fields }) => ({ name, label, fields: [...fields] })),
      }),
      capabilities: [...connector.capabilities],
    })),
  };
}
