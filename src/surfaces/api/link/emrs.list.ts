import { Type } from 'typebox';
import { connectors } from '../../../emr/index.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import type { Context } from '../../../product/context.ts';

export default endpoint({
  id: 'link.emrs.list',
  surface: 'api',
  group: 'Link',
  method: 'GET',
  path: '/link/emrs',
  auth: 'client',
  audited: false,
  summary: 'List supported EMRs',
  agent_tool: 'list_emrs',
  response: Type.Object({
    success,
    emrs: Type.Array(
      Type.Object(
        {
          emr_name: Type.String(),
          display_name: Type.String({ description: 'Display name of the EMR' }),
          credential_fields: Type.Array(
            Type.Object(
              {
                name: Type.String({ description: 'Name of the field in `credentials`' }),
                label: Type.String({ description: 'Label for people' }),
                secret: Type.Boolean({ description: 'Whether the value is a secret' }),
              },
              { schema_name: 'EmrCredentialField', description: 'A field of a sign-in form' },
            ),
            { description: 'The fields that a person fills in to sign in' },
          ),
          sign_in_ways: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  name: Type.String({ description: 'Value of `credentials.way`' }),
                  label: Type.String({ description: 'Label for people' }),
                  fields: Type.Array(Type.String(), { description: 'The credential fields that this method needs' }),
                },
                { schema_name: 'EmrSignInWay', description: 'A sign-in method of an EMR' },
              ),
              {
                description: 'Sign-in methods. If there are several, `credentials.way` names the one to use',
              },
            ),
          ),
          capabilities: Type.Array(Type.String(), { description: 'Operations that the connector supports' }),
        },
        { schema_name: 'Emr', description: 'An EMR product that accounts can be linked with' },
      ),
      { description: 'The supported EMRs' },
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
