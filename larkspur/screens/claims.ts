import type { FastifyInstance } from 'fastify';
import { type Claim, claims, listClaimStatuses, searchClaims } from '../charts/claims.ts';
import type { Context } from '../context.ts';
import { getRecord } from '../records/recordKind.ts';
import { listNewAnchors } from './apiEntries.ts';
import {
  dollars,
  factList,
  type Html,
  html,
  newMark,
  pageNumber,
  pagination,
  patientLink,
  section,
  table,
} from './html.ts';
import { type Frame, page } from './page.ts';
import { frameFor, requireUser, sendPage } from './user.ts';

const PAGE_SIZE = 25;

export function serveClaims(app: FastifyInstance, context: Context): void {
  const { sql } = context;

  app.get<{ Querystring: { q?: string; status?: string; page?: string } }>('/claims', async (request, reply) => {
    const user = await requireUser(context, request);
    const search = String(request.query.q ?? '').slice(0, 100);
    const status = String(request.query.status ?? '').slice(0, 20);
    const paging = { page: pageNumber(request.query.page), pageSize: PAGE_SIZE };
    const list = await searchClaims(sql, search, status, paging);
    const statuses = await listClaimStatuses(sql);
    return sendPage(reply, claimListPage(await frameFor(context, user), { search, status, statuses, ...list }));
  });

  app.get<{ Params: { claimId: string } }>('/claims/:claimId', async (request, reply) => {
    const user = await requireUser(context, request);
    const claim = await getRecord(sql, claims, request.params.claimId);
    const newAnchors = await listNewAnchors(sql, context.now());
    return sendPage(reply, claimPage(await frameFor(context, user), claim, newAnchors.has(`claim-${claim.claimId}`)));
  });
}

interface ClaimList {
  search: string;
  status: string;
  statuses: { statusCode: string; statusDescription: string }[];
  total: number;
  page: number;
  pageSize: number;
  rows: Claim[];
}

function claimListPage(frame: Frame, list: ClaimList): Html {
  const rows = list.rows.map((claim) => [
    html`<a href="/claims/${encodeURIComponent(claim.claimId)}">${claim.claimId}</a>`,
    claim.serviceDate,
    patientLink(claim.patientId, claim.patientName),
    claim.providerName,
    claim.statusDescription,
    dollars(claim.totalCharge),
    dollars(claim.totalPayment),
    dollars(claim.balance),
  ]);
  const columns = ['Claim', 'Service date', 'Patient', 'Provider', 'Status', 'Charge', 'Paid', 'Balance'];
  return page(
    frame,
    'Claims',
    html`<h1>Claims</h1>
<form class="search" method="get" action="/claims" role="search">
<div class="row fields">
<div><label for="q">Claim, patient or MRN</label><input id="q" name="q" type="search" value="${list.search}" maxlength="100" autocomplete="off"></div>
<div><label for="status">Status</label><select id="status" name="status"><option value="">Any</option>
${list.statuses.map(({ statusCode, statusDescription }) => html`<option value="${statusCode}"${statusCode === list.status && html` selected`}>${statusDescription}</option>`)}
</select></div>
<button>Search</button>
</div>
</form>
<p role="status">${list.total === 1 ? '1 claim' : `${list.total} claims`}</p>
${rows.length > 0 && html`<section class="card">${table('Claims', columns, rows)}</section>`}
${pagination('/claims', list, { q: list.search, status: list.status })}`,
  );
}

function claimPage(frame: Frame, claim: Claim, isNew: boolean): Html {
  return page(
    frame,
    `Claim ${claim.claimId}`,
    html`<p class="crumb"><a href="/claims">Claims</a></p>
<h1>Claim ${claim.claimId}${newMark(isNew)}</h1>
${summary(claim)}
${section('Services', 'No services.', lines(claim))}
${section('Payments', 'No payments yet.', payments(claim))}
${section('Insurance', 'Self pay.', insurances(claim))}
${section('Submissions', 'Not submitted yet.', submissions(claim))}
${section('Activity', 'No activity.', activity(claim))}`,
  );
}

function summary(claim: Claim): Html {
  return section('Summary', '', [
    factList([
      ['Patient', patientLink(claim.patientId, claim.patientName)],
      ['MRN', claim.mrn],
      ['Provider', claim.providerName],
      ['Service date', claim.serviceDate],
      ['Claim date', claim.claimDate],
      ['Status', claim.statusDescription],
      ['Diagnoses', claim.icdCodes.join(', ')],
      ['Charge', dollars(claim.totalCharge)],
      ['Paid', dollars(claim.totalPayment)],
      ['Adjustment', dollars(claim.netAdjustment)],
      ['Balance', dollars(claim.balance)],
      ['Patient responsibility', dollars(claim.patientResponsibility)],
      ['Paid by patient', dollars(claim.balances.patientPayment)],
      ['Copied from claim', claim.voidClaim.copyFromClaimId],
      ['Billing notes', claim.billingNotes],
    ]),
  ]);
}

function lines({ lineItems }: Claim): Html[] {
  const rows = lineItems.map((item) => [
    item.cptCode,
    item.description,
    item.modifiers.join(', '),
    item.units,
    item.icdPointers.join(', '),
    dollars(item.billedAmount),
    dollars(item.allowedAmount),
  ]);
  return table('Services', ['Code', 'Description', 'Modifiers', 'Units', 'Diagnoses', 'Billed', 'Allowed'], rows);
}

function payments(claim: Claim): Html[] {
  const rows = claim.payments.map((payment) => [
    payment.paymentDate,
    payment.payerName,
    payment.checkNumber === null ? payment.paymentType : `${payment.paymentType} ${payment.checkNumber}`,
    dollars(payment.amount),
    dollars(payment.adjustment),
    dollars(payment.deductible),
    dollars(payment.coinsurance),
    payment.eraClaimStatus,
    Object.entries(payment.eraAdjustmentCodes ?? {}).map(
      ([code, amount]) => html`<div class="nowrap">${code}: $${amount}</div>`,
    ),
  ]);
  const columns = ['Date', 'Payer', 'Method', 'Paid', 'Adjustment', 'Deductible', 'Coinsurance', 'Remittance', 'Codes'];
  return table('Payments', columns, rows);
}

function insurances(claim: Claim): Html[] {
  const rows = claim.insurances.map((insurance) => [
    insurance.name,
    insurance.claimIndicatorDescription,
    insurance.insuranceType,
    insurance.subscriberName,
    insurance.subscriberNumber,
    insurance.groupNumber,
  ]);
  return table('Insurance', ['Company', 'Priority', 'Type', 'Subscriber', 'Subscriber number', 'Group'], rows);
}

function submissions({ submissionHistory }: Claim): Html[] {
  const rows = submissionHistory.entries.map((entry) => [entry.date, entry.method, entry.payer, entry.result]);
  return table('Submissions', ['Date', 'Method', 'Payer', 'Result'], rows);
}

function activity({ activityLog }: Claim): Html[] {
  const rows = activityLog.map((entry) => [entry.date, entry.action, entry.category, entry.notes, entry.userName]);
  return table('Activity', ['Date', 'Action', 'Category', 'Notes', 'User'], rows);
}
