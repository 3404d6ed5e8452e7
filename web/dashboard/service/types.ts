import type { ResponseOf, RowOf } from './api.ts';

/** Names for the parts of responses that several components use. */
export type Session = NonNullable<ResponseOf<'session.get'>['session']>;
export type OperatorRole = Session['operator']['role'];
export const role_labels: Record<OperatorRole, string> = {
  support: 'Support',
  read_only: 'Read-only',
  operator: 'Operator',
  owner: 'Owner',
};
export type Client = ResponseOf<'clients.list'>['clients'][number];
export type EmrApp = ResponseOf<'emr-apps.list'>['emr_apps'][number];
export type EmrAppChoice = ResponseOf<'emr-apps.list'>['emrs'][number];
export type EmrPreset = ResponseOf<'emr-apps.list'>['presets'][number];
export type ClientSettings = ResponseOf<'clients.get'>['client'];
export type RetentionPeriod = ResponseOf<'clients.retention.get'>['periods'][number];
export type LegalHold = ResponseOf<'clients.legal-holds.list'>['legal_holds'][number];

export type Organization = ResponseOf<'accounts.list'>['organizations'][number];
export type Account = Organization['accounts'][number];
export type IdentifierSample = ResponseOf<'accounts.identifiers'>['sample'];
export type Emr = ResponseOf<'accounts.list'>['emrs'][number];
export type CreatedLink = ResponseOf<'accounts.link'>['link'];

export type ReportRow = ResponseOf<'connection-reports.list'>['reports'][number];
export type ConnectionReport = ResponseOf<'connection-reports.get'>['report'];

export type JobRow = RowOf<'jobs.list'>;
export type Job = ResponseOf<'jobs.get'>['job'];
export type JobStep = Job['steps'][number];

export type EventRow = RowOf<'events.list'>;
export type EventDetails = ResponseOf<'events.get'>['event'];
export type Delivery = EventDetails['deliveries'][number];
export type DeliveryAttempt = Delivery['tries'][number];
export type Webhook = ResponseOf<'webhooks.list'>['webhooks'][number];
export type ReceiverState = NonNullable<ResponseOf<'receiver.get'>['receiver']>;
export type ReceivedRow = RowOf<'received.list'>;

export type OrganizationOption = ResponseOf<'organizations.list'>['organizations'][number];
export type Provider = ResponseOf<'providers.get'>['provider'];
export type Hours = Provider['hours'];
export type Appointment = RowOf<'appointments.search'>;
export type Claim = RowOf<'claims.search'>;
export type EligibilityCheck = RowOf<'eligibility-checks.search'>;
export type Order = RowOf<'orders.search'>;
export type Referral = RowOf<'referrals.search'>;
export type Patient = RowOf<'patients.search'>;

export type HistoryBin = ResponseOf<'overview.history'>['bins'][number];
export type ClientLoad = ResponseOf<'overview.get'>['overview']['clients'][number];
export type SandboxState = ResponseOf<'sandbox.get'>['sandbox'];
