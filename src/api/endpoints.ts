import type { Endpoint } from '../http/endpoint.ts';
import linkEmrsList from './link/emrs.list.ts';
import linkTokenCreate from './link/token.create.ts';
import linkTokenExchange from './link/token.exchange.ts';
import sandboxPublicTokenCreate from './sandbox/public_token.create.ts';
import appointmentsCreate from './v1/appointments.create.ts';
import appointmentsGet from './v1/appointments.get.ts';
import availabilityList from './v1/availability.list.ts';
import claimsList from './v1/claims.list.ts';
import documentsCreate from './v1/documents.create.ts';
import insuranceProvidersList from './v1/insurance-providers.list.ts';
import jobsGet from './v1/jobs.get.ts';
import locationsList from './v1/locations.list.ts';
import locationsUpdate from './v1/locations.update.ts';
import ordersList from './v1/orders.list.ts';
import patientsCreate from './v1/patients.create.ts';
import patientsFetch from './v1/patients.fetch.ts';
import patientsInsurancesCreate from './v1/patients.insurances.create.ts';
import patientsInsurancesUpdate from './v1/patients.insurances.update.ts';
import patientsList from './v1/patients.list.ts';
import patientsUpdate from './v1/patients.update.ts';
import pharmaciesList from './v1/pharmacies.list.ts';
import providersList from './v1/providers.list.ts';
import { updateByEhrId, updateById } from './v1/providers.update.ts';
import referringProvidersList from './v1/referring-providers.list.ts';
import settingsGet from './v1/settings.get.ts';
import staffList from './v1/staff.list.ts';
import syncCreate from './v1/sync.create.ts';
import telephoneEncountersActionsCreate from './v1/telephone-encounters.actions.create.ts';
import telephoneEncountersCreate from './v1/telephone-encounters.create.ts';
import visitStatusesList from './v1/visit-statuses.list.ts';
import visitTypesList from './v1/visit-types.list.ts';
import webhookCreate from './v1/webhook.create.ts';
import webhookDelete from './v1/webhook.delete.ts';
import webhookList from './v1/webhook.list.ts';
import { rotateById, rotateOldest } from './v1/webhook.rotate-secret.ts';
import webhookEventsList from './v1/webhook-events.list.ts';
import webhookEventsResend from './v1/webhook-events.resend.ts';

/** The public API. Within a group, the reference has the same order. */
export const endpoints: readonly Endpoint[] = [
  linkTokenCreate,
  linkTokenExchange,
  linkEmrsList,
  sandboxPublicTokenCreate,
  telephoneEncountersCreate,
  telephoneEncountersActionsCreate,
  appointmentsCreate,
  availabilityList,
  documentsCreate,
  providersList,
  updateByEhrId,
  updateById,
  locationsList,
  locationsUpdate,
  staffList,
  pharmaciesList,
  patientsList,
  patientsCreate,
  patientsUpdate,
  patientsFetch,
  patientsInsurancesCreate,
  patientsInsurancesUpdate,
  appointmentsGet,
  claimsList,
  ordersList,
  insuranceProvidersList,
  referringProvidersList,
  visitTypesList,
  visitStatusesList,
  settingsGet,
  syncCreate,
  jobsGet,
  webhookEventsList,
  webhookEventsResend,
  webhookCreate,
  webhookList,
  webhookDelete,
  rotateOldest,
  rotateById,
];
