import { checkMrnSetting } from '../accounts/checkMrnSetting.ts';
import type { NewEmrApp } from '../accounts/emrApps.ts';
import { checkLogo } from '../clients/checkClient.ts';
import type { Connector, Credentials } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import { apiError } from '../errors.ts';
import type { NewApp } from '../model/dashboard/emrApps.ts';
import { checkCredentials, mergeCredentials, trimCredentials } from './checkCredentials.ts';
import { readEmrAddress } from './emrAddress.ts';

/** Validates a new app and throws on the first error. Returns it as it is stored. */
export function checkNewApp(
  ctx: Pick<Context, 'config' | 'connectors'>,
  { name, logo = null, emr, emr_address, credentials, ...mrn }: NewApp,
): Omit<NewEmrApp, 'client_id'> {
  const connector = ctx.connectors.get(emr.toLowerCase());
  if (!connector) {
    const supported = [...ctx.connectors.keys()].join(', ');
    throw apiError('emr_name_unknown', { emr_name: emr, supported }, { field: 'emr' });
  }
  if (logo !== null) checkLogo(logo);
  return {
    name: name.trim(),
    logo,
    connector: connector.name,
    emr_address: emr_address ? addressOf(ctx, connector, emr_address) : null,
    credentials: mergeAppCredentials(connector, {}, credentials),
    ...checkMrnSetting(ctx, connector.name, mrn),
  };
}

/** The stored credentials with the changes applied. A secret that is not sent stays, unless the method changes. */
export function mergeAppCredentials(connector: Connector, stored: Credentials, changes: Credentials): Credentials {
  const merged = mergeCredentials(stored, trimCredentials(connector, changes));
  const ways = (connector.sign_in_ways ?? []).filter(({ by_app }) => by_app).map(({ name }) => name);
  if (!ways.includes(merged.way ?? '')) {
    const rule = ways.length > 0 ? `must be one of: ${ways.join(', ')}` : 'cannot be configured for this EMR';
    throw apiError('invalid_field', { rule: `credentials.way ${rule}` }, { field: 'credentials.way' });
  }
  checkCredentials(connector, merged);
  return merged;
}

function addressOf(ctx: Pick<Context, 'config'>, connector: Connector, text: string): string {
  const read = readEmrAddress(ctx, connector, text);
  if ('address' in read) return read.address;
  throw apiError('invalid_field', { rule: `emr_address ${read.rule}` }, { field: 'emr_address' });
}
