import { Type } from 'typebox';
import { endpoint, JsonText } from '../../../http/endpoint.ts';
import { success, sync_state } from '../../../model/fields.ts';
import { Settings } from '../../../model/settings.ts';
import { capabilitiesOf } from '../../../product/accounts/openAccount.ts';
import { readSettings } from '../../../product/records/settings.ts';

export default endpoint({
  id: 'settings.get',
  surface: 'api',
  group: 'Practice',
  method: 'GET',
  path: '/v1/settings',
  auth: 'account',
  audited: false,
  summary: 'Retrieve the settings of the EMR instance',
  agent_tool: 'get_settings',
  description: 'Time zone, visit types and statuses, languages, required patient fields and supported operations.',
  response: Type.Object({ success, data: Settings, sync: sync_state }),
  handle: async ({ ctx, account }) =>
    new JsonText(await readSettings(ctx.db, { ...account, capabilities: capabilitiesOf(ctx, account) })),
});
