import type { FastifyInstance } from 'fastify';
import { type EligibilityCheck, type EligibilitySummary, getPatientCheck } from '../charts/eligibility.ts';
import { type Patient, patients } from '../charts/patients.ts';
import type { Context } from '../context.ts';
import { getPractice } from '../practice/practice.ts';
import { providers } from '../practice/providers.ts';
import { findRecords, getRecord } from '../records/recordKind.ts';
import { type Content, dollars, factList, type Html, html, patientLink, section, table } from './html.ts';
import { type Frame, page } from './page.ts';
import { createTimeFormat } from './readChart.ts';
import { frameFor, requireUser, sendPage } from './user.ts';

export const checkStatuses = { REQ: 'Requested', ACT: 'Active coverage', INA: 'Not covered', ERR: 'Error' };

export function checkLink({ patientId, checkId }: EligibilitySummary, label: Content): Html {
  return html`<a href="/patients/${encodeURIComponent(patientId)}/eligibility-checks/${encodeURIComponent(checkId)}">${label}</a>`;
}

/** The screen of one check, with the benefits that the insurer reported. */
export function serveEligibility(app: FastifyInstance, context: Context): void {
  const { sql } = context;
  app.get<{ Params: { patientId: string; checkId: string } }>(
    '/patients/:patientId/eligibility-checks/:checkId',
    async (request, reply) => {
      const user = await requireUser(context, request);
      const { patientId, checkId } = request.params;
      const check = await getPatientCheck(sql, patientId, checkId);
      const patient = await getRecord(sql, patients, patientId);
      const time = createTimeFormat((await getPractice(sql)).timeZone);
      const [provider] = check.providerId ? await findRecords(sql, providers, { providerId: check.providerId }) : [];
      const shown = { check, patient, time, providerName: provider?.displayName ?? null };
      return sendPage(reply, checkPage(await frameFor(context, user), shown));
    },
  );
}

interface Shown {
  check: EligibilityCheck;
  patient: Patient;
  providerName: string | null;
  time: (at: Date) => string;
}

function checkPage(frame: Frame, { check, patient, providerName, time }: Shown): Html {
  const name = `${patient.lastName}, ${patient.firstName}`;
  return page(
    frame,
    `Eligibility check ${check.checkId}`,
    html`<p class="crumb">${patientLink(patient.patientId, name)}</p>
<h1>Eligibility check ${check.checkId}</h1>
${section('Summary', '', [
  factList([
    ['Result', checkStatuses[check.statusCode]],
    ['Message', check.statusMessage],
    ['Company', check.companyName],
    ['Plan', check.planName],
    ['Subscriber', check.subscriberName],
    ['Subscriber number', check.subscriberNumber],
    ['Provider', providerName],
    ['Visit', check.appointmentId],
    ['Service date', check.serviceDate],
    ['Requested', `${time(check.requestedAt)}, ${check.requestedBy}`],
    ['Response', check.respondedAt && time(check.respondedAt)],
    ['Plan begins', check.planBegins],
    ['Plan ends', check.planEnds],
  ]),
])}
${section('Benefits', 'No benefits.', benefitTable(check))}`,
  );
}

const networks = { Y: 'In network', N: 'Out of network', W: 'Not applicable', U: 'Unknown' };
const levels = { IND: 'Individual', FAM: 'Family' };

function benefitTable({ benefits }: EligibilityCheck): Html[] {
  const rows = benefits.map((benefit) => [
    benefit.lineNumber,
    benefit.typeName,
    benefit.levelCode && levels[benefit.levelCode],
    benefit.serviceTypeCodes.join(', '),
    benefit.timePeriod,
    benefit.amount === null ? benefit.percent !== null && `${benefit.percent}%` : dollars(benefit.amount),
    benefit.networkCode && networks[benefit.networkCode],
    benefit.messages.join('; '),
  ]);
  return table('Benefits', ['Line', 'Benefit', 'Level', 'Services', 'Period', 'Value', 'Network', 'Messages'], rows);
}
