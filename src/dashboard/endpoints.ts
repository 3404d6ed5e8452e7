import type { Endpoint } from '../api/endpoint.ts';
import accountsLink from './accounts.link.ts';
import accountsList from './accounts.list.ts';
import accountsRelink from './accounts.relink.ts';
import accountsReveal from './accounts.reveal.ts';
import accountsRevoke from './accounts.revoke.ts';
import accountsSync from './accounts.sync.ts';
import { exportList, exportSearch } from './audit.export.ts';
import auditList from './audit.list.ts';
import auditSearch from './audit.search.ts';
import auditVerify from './audit.verify.ts';
import availabilityList from './availability.list.ts';
import clientsCreate from './clients.create.ts';
import clientsGet from './clients.get.ts';
import clientsKeysCreate from './clients.keys.create.ts';
import clientsKeysDelete from './clients.keys.delete.ts';
import clientsList from './clients.list.ts';
import clientsUpdate from './clients.update.ts';
import defaultHoursGet from './defaultHours.get.ts';
import defaultHoursUpdate from './defaultHours.update.ts';
import encryptionGet from './encryption.get.ts';
import encryptionRotate from './encryption.rotate.ts';
import { event_endpoints } from './eventEndpoints.ts';
import type { FindClinic } from './findClinic.ts';
import jobsGet from './jobs.get.ts';
import jobsList from './jobs.list.ts';
import jobsReview from './jobs.review.ts';
import jobsRunAgain from './jobs.run-again.ts';
import jobsSearch from './jobs.search.ts';
import { liveGet } from './live.get.ts';
import type { Live } from './live.ts';
import locationsUpdate from './locations.update.ts';
import mePassword from './me.password.ts';
import { secondFactorOff, secondFactorOffer, secondFactorOn } from './me.secondFactor.ts';
import operatorsCreate from './operators.create.ts';
import operatorsList from './operators.list.ts';
import operatorsReset from './operators.reset.ts';
import operatorsUpdate from './operators.update.ts';
import organisationsList from './organisations.list.ts';
import overviewGet from './overview.get.ts';
import overviewHistory from './overview.history.ts';
import patientsJobs from './patients.jobs.ts';
import providersGet from './providers.get.ts';
import providersUpdate from './providers.update.ts';
import recordsCount from './records.count.ts';
import recordsGet from './records.get.ts';
import recordsList from './records.list.ts';
import { recordSearches } from './records.search.ts';
import requestsList from './requests.list.ts';
import retentionGet from './retention.get.ts';
import { sandboxFaultsClear } from './sandbox.faults.clear.ts';
import { sandboxFaultsSet } from './sandbox.faults.set.ts';
import { sandboxFirstWrite } from './sandbox.first-write.ts';
import { sandboxGet } from './sandbox.get.ts';
import { sandboxLockoutsSet } from './sandbox.lockouts.set.ts';
import { sandboxReset } from './sandbox.reset.ts';
import { sandboxSessionsExpire } from './sandbox.sessions.expire.ts';
import sessionCreate from './session.create.ts';
import sessionDelete from './session.delete.ts';
import sessionGet from './session.get.ts';

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
    organisationsList,
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
