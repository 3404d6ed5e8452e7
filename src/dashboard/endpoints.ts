import type { Endpoint } from '../http/endpoint.ts';
import accountsLink from './accounts/accounts.link.ts';
import accountsList from './accounts/accounts.list.ts';
import accountsRelink from './accounts/accounts.relink.ts';
import accountsReveal from './accounts/accounts.reveal.ts';
import accountsRevoke from './accounts/accounts.revoke.ts';
import accountsSync from './accounts/accounts.sync.ts';
import { exportList, exportSearch } from './audit/audit.export.ts';
import auditList from './audit/audit.list.ts';
import auditSearch from './audit/audit.search.ts';
import auditVerify from './audit/audit.verify.ts';
import requestsList from './audit/requests.list.ts';
import { event_endpoints } from './events/eventEndpoints.ts';
import jobsGet from './jobs/jobs.get.ts';
import jobsList from './jobs/jobs.list.ts';
import jobsReview from './jobs/jobs.review.ts';
import jobsRunAgain from './jobs/jobs.run-again.ts';
import jobsSearch from './jobs/jobs.search.ts';
import patientsJobs from './jobs/patients.jobs.ts';
import mePassword from './operators/me.password.ts';
import { secondFactorOff, secondFactorOffer, secondFactorOn } from './operators/me.secondFactor.ts';
import operatorsCreate from './operators/operators.create.ts';
import operatorsList from './operators/operators.list.ts';
import operatorsReset from './operators/operators.reset.ts';
import operatorsUpdate from './operators/operators.update.ts';
import sessionCreate from './operators/session.create.ts';
import sessionDelete from './operators/session.delete.ts';
import sessionGet from './operators/session.get.ts';
import { liveGet } from './overview/live.get.ts';
import type { Live } from './overview/live.ts';
import overviewGet from './overview/overview.get.ts';
import overviewHistory from './overview/overview.history.ts';
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
import { recordSearches } from './records/records.search.ts';
import type { FindClinic } from './sandbox/findClinic.ts';
import { sandboxFaultsClear } from './sandbox/sandbox.faults.clear.ts';
import { sandboxFaultsSet } from './sandbox/sandbox.faults.set.ts';
import { sandboxFirstWrite } from './sandbox/sandbox.first-write.ts';
import { sandboxGet } from './sandbox/sandbox.get.ts';
import { sandboxLockoutsSet } from './sandbox/sandbox.lockouts.set.ts';
import { sandboxReset } from './sandbox/sandbox.reset.ts';
import { sandboxSessionsExpire } from './sandbox/sandbox.sessions.expire.ts';
import clientsCreate from './settings/clients.create.ts';
import clientsGet from './settings/clients.get.ts';
import clientsKeysCreate from './settings/clients.keys.create.ts';
import clientsKeysDelete from './settings/clients.keys.delete.ts';
import clientsList from './settings/clients.list.ts';
import clientsUpdate from './settings/clients.update.ts';
import encryptionGet from './settings/encryption.get.ts';
import encryptionRotate from './settings/encryption.rotate.ts';
import retentionGet from './settings/retention.get.ts';

/** What the dashboard's page asks for. Answered by the machine of all endpoints, but no part of the interface for applications. */
export function dashboardEndpoints({ live, clinic }: { live: Live; clinic: FindClinic }): readonly Endpoint[] {
  return [
    sessionCreate,
    sessionGet,
    sessionDelete,
    liveGet(live),
    // Overview
    overviewGet,
    overviewHistory,
    // Accounts
    accountsList,
    accountsLink,
    accountsRelink,
    accountsReveal,
    accountsSync,
    accountsRevoke,
    // Jobs
    jobsList,
    jobsSearch,
    jobsGet,
    jobsRunAgain,
    jobsReview,
    // Events & webhooks
    ...event_endpoints,
    // Records
    organizationsList,
    recordsCount,
    recordsList,
    recordsGet,
    ...recordSearches,
    patientsJobs,
    providersGet,
    providersUpdate,
    locationsUpdate,
    availabilityList,
    defaultHoursGet,
    defaultHoursUpdate,
    // Requests
    requestsList,
    // Sandbox
    sandboxGet(clinic),
    sandboxFaultsSet(clinic),
    sandboxFaultsClear(clinic),
    sandboxSessionsExpire(clinic),
    sandboxLockoutsSet(clinic),
    sandboxReset(clinic),
    sandboxFirstWrite(clinic),
    // Audit
    auditList,
    auditSearch,
    exportList,
    exportSearch,
    auditVerify,
    // Settings
    clientsList,
    clientsCreate,
    clientsGet,
    clientsUpdate,
    clientsKeysCreate,
    clientsKeysDelete,
    operatorsList,
    operatorsCreate,
    operatorsUpdate,
    operatorsReset,
    encryptionGet,
    encryptionRotate,
    retentionGet,
    mePassword,
    secondFactorOffer,
    secondFactorOn,
    secondFactorOff,
  ];
}
