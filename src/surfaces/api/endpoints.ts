import type { Endpoint } from '../../http/endpoint.ts';
import linkEmrsList from './link/emrs.list.ts';
import linkTokenCreate from './link/token.create.ts';
import linkTokenExchange from './link/token.exchange.ts';
import { recordLists } from './recordLists.ts';
import sandboxPublicTokenCreate from './sandbox/public_token.create.ts';
import accountConnectionReport from './v1/account.connection-report.ts';
import accountDelete from './v1/account.delete.ts';
import accountRotateToken from './v1/account.rotate-token.ts';
import accountsList from './v1/accounts.list.ts';
import appointmentsCreate from './v1/appointments.create.ts';
import appointmentsGet from './v1/appointments.get.ts';
import availabilityList from './v1/availability.list.ts';
import documentsCreate from './v1/documents.create.ts';
import jobsGet from './v1/jobs.get.ts';
import jobsList from './v1/jobs.list.ts';
import jobsRunAgain from './v1/jobs.run-again.ts';
import locationsUpdate from './v1/locations.update.ts';
import patientsCreate from './v1/patients.create.ts';
import patientsFetch from './v1/patients.fetch.ts';
import patientsInsurancesCreate from './v1/patients.insurances.create.ts';
import patientsInsurancesUpdate from './v1/patients.insurances.update.ts';
import patientsUpdate from './v1/patients.update.ts';
import { updateByEhrId, updateById } from './v1/providers.update.ts';
import requestsList from './v1/requests.list.ts';
import settingsGet from './v1/settings.get.ts';
import syncCreate from './v1/sync.create.ts';
import telephoneEncountersActionsCreate from './v1/telephone-encounters.actions.create.ts';
import telephoneEncountersCreate from './v1/telephone-encounters.create.ts';
import webhookCreate from './v1/webhook.create.ts';
import webhookDelete from './v1/webhook.delete.ts';
import webhookList from './v1/webhook.list.ts';
import { rotateById, rotateOldest } from './v1/webhook.rotate-secret.ts';
import webhookEventsList from './v1/webhook-events.list.ts';
import webhookEventsResend from './v1/webhook-events.resend.ts';
import webhookEventsStream from './v1/webhook-events.stream.ts';

/** The public API, in the order of the reference within each group. */
export const endpoints: readonly Endpoint[] = byResource([
  linkTokenCreate,
  linkTokenExchange,
  linkEmrsList,
  accountConnectionReport,
  accountRotateToken,
  accountDelete,
  accountsList,
  sandboxPublicTokenCreate,
  telephoneEncountersCreate,
  telephoneEncountersActionsCreate,
  appointmentsCreate,
  availabilityList,
  documentsCreate,
  ...recordLists,
  updateByEhrId,
  updateById,
  locationsUpdate,
  patientsCreate,
  patientsUpdate,
  patientsFetch,
  patientsInsurancesCreate,
  patientsInsurancesUpdate,
  appointmentsGet,
  settingsGet,
  syncCreate,
  jobsList,
  jobsGet,
  jobsRunAgain,
  requestsList,
  webhookEventsList,
  webhookEventsStream,
  webhookEventsResend,
  webhookCreate,
  webhookList,
  webhookDelete,
  rotateOldest,
  rotateById,
]);

/** Brings endpoints of the same resource (`/v1/patients`, `/v1/patients/{id}`) together, where the first of them is. */
function byResource(all: readonly Endpoint[]): Endpoint[] {
  const groups = new Map<string, Endpoint[]>();
  for (const each of all) {
    const resource = each.path.split('/').slice(0, 3).join('/');
    groups.set(resource, [...(groups.get(resource) ?? []), each]);
  }
  return [...groups.values()].flat();
}
