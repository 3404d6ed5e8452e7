import type { Tx } from '../db/database.ts';
import { apiError } from '../errors.ts';
import type { ProviderSettingsRequest } from '../model/providerSettings.ts';
import { locationNames } from './locations.ts';
import { findProvider, isResting, type ProviderSettings, providerDocument, saveProviderSettings } from './providers.ts';
import { readHours } from './readHours.ts';
import { readStatus } from './readStatus.ts';
import { hastenSync } from './requestSync.ts';
import { forgetReadings } from './syncReadings.ts';

/** Changes the settings of a provider that belong to the service. Gives the provider's id. */
export async function patchProvider(
  tx: Tx,
  account: { client_id: string; organization_id: string },
  by: { id: string } | { ehr_id: string },
  request: ProviderSettingsRequest,
): Promise<string | undefined> {
  if (Object.keys(request).length === 0) throw apiError('no_field');
  const { status, hide_in_availability: hide, hours } = request;
  // Nobody has read the schedule of one who was set aside; availability must not offer by the old one for long. The
  // organization is locked before the provider: a sync holds providers, and a link the organization, while they wait.
  const woken = status !== undefined && readStatus(status) === 'active';
  if (woken && (await isResting(tx, account.organization_id, by))) {
    await hastenSync(tx, account.organization_id);
    // Of a provider who rested nothing was kept, whether it changed since or not.
    await forgetReadings(tx, account.organization_id);
  }
  const provider = await findProvider(tx, account.organization_id, by);
  if (!provider) return undefined;
  const facilities = await locationNames(tx, { ...account, run: 0 });
  const settings: ProviderSettings = {
    status_set: status === undefined ? provider.status_set : readStatus(status),
    hide_in_availability: hide === undefined ? provider.hide_in_availability : String(hide) === 'true',
    hours_set: hours === undefined ? provider.hours_set : hours && readHours(hours, facilities),
  };
  const doc = providerDocument(provider.source, provider.id, settings, facilities);
  await saveProviderSettings(tx, provider.id, settings, doc);
  return provider.id;
}
