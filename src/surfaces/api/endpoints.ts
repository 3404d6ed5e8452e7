import type { Endpoint } from '../../http/endpoint.ts';
import { sandboxEmrOpen } from '../sandbox/openInEmr.ts';
import { linkDirectorySearch, linkEmrsList, linkTokenCreate, linkTokenExchange } from './link.ts';
import { recordLists } from './recordLists.ts';
import { sandboxPublicTokenCreate } from './sandbox.ts';
import { accountConnectionReport, accountDelete, accountRotateToken, accountsList } from './v1/accounts.ts';
import {
  appointmentsCreate,
  appointmentsFetch,
  appointmentsGet,
  appointmentsGetByEhrId,
  appointmentsUpdate,
  availabilityFetch,
  availabilityList,
} from './v1/appointments.ts';
import { claimsCreate, paymentsCreate } from './v1/billing.ts';
import { changesList } from './v1/changes.ts';
import { documentsCreate, documentsGet } from './v1/documents.ts';
import { eligibilityBenefitsList } from './v1/eligibility-checks.ts';
import { jobsCancel, jobsGet, jobsList, jobsRunAgain, requestsList } from './v1/jobs.ts';
import { notesCreate, patientNotesCreate } from './v1/notes.ts';
import {
  patientsCreate,
  patientsFetch,
  patientsGet,
  patientsInsurancesCreate,
  patientsInsurancesList,
  patientsInsurancesUpdate,
  patientsUpdate,
} from './v1/patients.ts';
import { locationsUpdate, settingsGet, syncCreate, updateByEhrId, updateById } from './v1/practice.ts';
import { referralsCreate, referringProvidersCreate } from './v1/referrals.ts';
import { tasksCreate, tasksNotesCreate } from './v1/tasks.ts';
import { telephoneEncountersActionsCreate, telephoneEncountersCreate } from './v1/telephone-encounters.ts';
import { webhookEventsList, webhookEventsResend, webhookEventsStream } from './v1/webhook-events.ts';
import {
  rotateById,
  rotateOldest,
  webhookCreate,
  webhookDelete,
  webhookDeliveries,
  webhookList,
  webhookTest,
  webhookUpdate,
} from './v1/webhooks.ts';

/** The public API, in the order of the reference within each group. */
export const endpoints: readonly Endpoint[] = byResource([
  linkTokenCreate,
  linkTokenExchange,
  linkEmrsList,
  linkDirectorySearch,
  accountConnectionReport,
  accountRotateToken,
  accountDelete,
  accountsList,
  sandboxPublicTokenCreate,
  sandboxEmrOpen,
  telephoneEncountersCreate,
  telephoneEncountersActionsCreate,
  appointmentsCreate,
  availabilityList,
  documentsCreate,
  documentsGet,
  paymentsCreate,
  tasksCreate,
  tasksNotesCreate,
  notesCreate,
  patientNotesCreate,
  claimsCreate,
  ...recordLists,
  eligibilityBenefitsList,
  referringProvidersCreate,
  referralsCreate,
  updateByEhrId,
  updateById,
  locationsUpdate,
  patientsCreate,
  patientsGet,
  patientsUpdate,
  patientsFetch,
  patientsInsurancesList,
  patientsInsurancesCreate,
  patientsInsurancesUpdate,
  appointmentsGet,
  appointmentsGetByEhrId,
  appointmentsUpdate,
  appointmentsFetch,
  availabilityFetch,
  settingsGet,
  syncCreate,
  changesList,
  jobsList,
  jobsGet,
  jobsRunAgain,
  jobsCancel,
  requestsList,
  webhookEventsList,
  webhookEventsStream,
  webhookEventsResend,
  webhookCreate,
  webhookList,
  webhookUpdate,
  webhookDelete,
  webhookTest,
  webhookDeliveries,
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
