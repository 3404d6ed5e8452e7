import type { Endpoint } from '../../http/endpoint.ts';
import { invitationsAccept, invitationsCreate, invitationsFind, invitationsRevoke } from './access/invitations.ts';
import {
  mePassword,
  passkeysCreate,
  passkeysDelete,
  passkeysList,
  passkeysOptions,
  recoveryCodesCreate,
  sessionsEnd,
  sessionsEndOthers,
  sessionsList,
  totpOff,
  totpOffer,
  totpOn,
} from './access/me.ts';
import { operatorsList, operatorsReset, operatorsUpdate } from './access/operators.ts';
import { revealsCreate } from './access/reveals.ts';
import {
  sessionCreate,
  sessionDelete,
  sessionGet,
  sessionPasskey,
  sessionPasskeyOptions,
  sessionRenew,
} from './access/session.ts';
import { signInGet, singleSignOnRenew, singleSignOnStart } from './access/signIn.ts';
import {
  accountsCheck,
  accountsLink,
  accountsList,
  accountsRelink,
  accountsReveal,
  accountsRevoke,
  accountsRotate,
  accountsSync,
} from './accounts.ts';
import { alertsList, alertsTest } from './alerts.ts';
import { auditExport, auditExportSearch, auditList, auditSearch, auditVerify } from './audit.ts';
import {
  clientsCreate,
  clientsGet,
  clientsKeysCreate,
  clientsKeysDelete,
  clientsList,
  clientsUpdate,
} from './clients.ts';
import { reportsGet, reportsList } from './connectionReports.ts';
import { emrAppsCreate, emrAppsDelete, emrAppsList, emrAppsUpdate } from './emrApps.ts';
import { accountsIdentifiers, emrSettingsUpdate } from './emrSettings.ts';
import { encryptionGet, encryptionRotate, retentionGet } from './encryption.ts';
import { clientsErase, organizationsErase, patientsErase } from './erasure.ts';
import {
  eventsGet,
  eventsList,
  eventsResend,
  eventTypesList,
  failedEventsCount,
  failedEventsResend,
} from './events.ts';
import {
  jobsExport,
  jobsGet,
  jobsList,
  jobsPatients,
  jobsReview,
  jobsRunAgain,
  jobsSearch,
  patientsJobs,
} from './jobs.ts';
import { type Live, liveGet } from './live.ts';
import { overviewGet, overviewHistory } from './overview.ts';
import { receivedClear, receivedGet, receivedList, receiverCreate, receiverGet, receiverUpdate } from './receiver.ts';
import availabilityList from './records/availability.list.ts';
import defaultHoursGet from './records/defaultHours.get.ts';
import defaultHoursUpdate from './records/defaultHours.update.ts';
import locationsUpdate from './records/locations.update.ts';
import organizationsList from './records/organizations.list.ts';
import providersGet from './records/providers.get.ts';
import providersUpdate from './records/providers.update.ts';
import recordsCount from './records/records.count.ts';
import recordsGet from './records/records.get.ts';
import recordsList from './records/records.list.ts';
import { patientsFind, recordSearches } from './records/records.search.ts';
import removalsConfirm from './records/removals.confirm.ts';
import { requestsList } from './requests.ts';
import { type FindClinic, sandboxEndpoints } from './sandbox.ts';
import {
  webhooksCreate,
  webhooksDelete,
  webhooksDisable,
  webhooksEnable,
  webhooksGet,
  webhooksLastError,
  webhooksList,
  webhooksRotate,
  webhooksSendWaiting,
  webhooksTest,
  webhooksUpdate,
} from './webhooks.ts';

/** The dashboard's own API, by page. It is not part of the public API. */
export function dashboardEndpoints({ live, clinic }: { live: Live; clinic: FindClinic }): readonly Endpoint[] {
  return [
    // Every page
    sessionCreate,
    sessionGet,
    sessionPasskeyOptions,
    sessionPasskey,
    sessionRenew,
    sessionDelete,
    signInGet,
    singleSignOnStart,
    singleSignOnRenew,
    invitationsFind,
    invitationsAccept,
    clientsList,
    liveGet(live),
    revealsCreate,
    // Overview
    overviewGet,
    overviewHistory,
    // Accounts
    accountsList,
    accountsLink,
    accountsRelink,
    accountsReveal,
    accountsRotate,
    accountsSync,
    accountsCheck,
    accountsIdentifiers,
    emrSettingsUpdate,
    accountsRevoke,
    reportsList,
    reportsGet,
    organizationsErase,
    // Jobs
    jobsList,
    jobsSearch,
    jobsPatients,
    jobsExport,
    jobsGet,
    jobsRunAgain,
    jobsReview,
    // Events & webhooks
    eventTypesList,
    eventsList,
    eventsGet,
    eventsResend,
    failedEventsCount,
    failedEventsResend,
    webhooksList,
    webhooksGet,
    webhooksLastError,
    webhooksCreate,
    webhooksUpdate,
    webhooksSendWaiting,
    webhooksRotate,
    webhooksDisable,
    webhooksEnable,
    webhooksDelete,
    webhooksTest,
    receiverGet,
    receiverCreate,
    receiverUpdate,
    receivedList,
    receivedGet,
    receivedClear,
    // Records
    organizationsList,
    recordsCount,
    recordsList,
    recordsGet,
    ...recordSearches,
    patientsFind,
    patientsJobs,
    patientsErase,
    providersGet,
    providersUpdate,
    locationsUpdate,
    availabilityList,
    defaultHoursGet,
    defaultHoursUpdate,
    removalsConfirm,
    // Requests
    requestsList,
    // Sandbox
    ...sandboxEndpoints(clinic),
    // Audit
    auditList,
    auditSearch,
    auditExport,
    auditExportSearch,
    auditVerify,
    // Settings
    clientsCreate,
    clientsGet,
    clientsUpdate,
    clientsKeysCreate,
    clientsKeysDelete,
    clientsErase,
    emrAppsList,
    emrAppsCreate,
    emrAppsUpdate,
    emrAppsDelete,
    operatorsList,
    operatorsUpdate,
    operatorsReset,
    invitationsCreate,
    invitationsRevoke,
    encryptionGet,
    encryptionRotate,
    retentionGet,
    alertsList,
    alertsTest,
    // Settings: my account
    mePassword,
    totpOffer,
    totpOn,
    totpOff,
    recoveryCodesCreate,
    passkeysList,
    passkeysOptions,
    passkeysCreate,
    passkeysDelete,
    sessionsList,
    sessionsEnd,
    sessionsEndOthers,
  ];
}
