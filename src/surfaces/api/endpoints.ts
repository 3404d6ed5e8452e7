import type { Endpoint } from '../../http/endpoint.ts';
import { linkEmrsList, linkTokenCreate, linkTokenExchange } from './link.ts';
import { recordLists } from './recordLists.ts';
import { sandboxPublicTokenCreate } from './sandbox.ts';
import { accountConnectionReport, accountDelete, accountRotateToken, accountsList } from './v1/accounts.ts';
import { appointmentsCreate, appointmentsGet, availabilityList } from './v1/appointments.ts';
import { documentsCreate } from './v1/documents.ts';
import { jobsGet, jobsList, jobsRunAgain, requestsList } from './v1/jobs.ts';
import {
  patientsCreate,
  patientsFetch,
  patientsInsurancesCreate,
  patientsInsurancesUpdate,
  patientsUpdate,
} from './v1/patients.ts';
import { locationsUpdate, settingsGet, syncCreate, updateByEhrId, updateById } from './v1/practice.ts';
import { telephoneEncountersActionsCreate, telephoneEncountersCreate } from './v1/telephone-encounters.ts';
import { webhookEventsList, webhookEventsResend, webhookEventsStream } from './v1/webhook-events.ts';
import { rotateById, rotateOldest, webhookCreate, webhookDelete, webhookList } from './v1/webhooks.ts';

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
