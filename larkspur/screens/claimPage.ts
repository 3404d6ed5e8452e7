import type { Claim } from '../charts/claims.ts';
import { type Html, html } from './html.ts';
import { type Frame, page } from './page.ts';
import { dollars, facts, section, table } from './parts.ts';

export function claimPage(frame: Omit<Frame, 'title'>, claim: Claim): Html {
  return page(
    { ...frame, title: `Claim ${claim.claimId}` },
    html`<p class="crumb"><a href="/claims">Claims</a></p>
<h1>Claim ${claim.claimId}</h1>
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
    facts([
      ['Patient', html`<a href="/patients/${encodeURIComponent(claim.patientId)}">${claim.patientName}</a>`],
      ['MRN', claim.mrn],
      ['Provider', claim.providerName],
      ['Service date', claim.serviceDate],
      ['Claim date', claim.claimDate],
      ['Status', claim.statusDescription],
      ['Diagnoses', claim.icdCodes.join(', ')],
      ['Charge', dollars(claim.totalCharge)],
      ['Paid', dollars(claim.totalPayment)],
      ['Adjusted', dollars(claim.netAdjustment)],
      ['Balance', dollars(claim.balance)],
      ['Patient responsibility', dollars(claim.patientResponsibility)],
      ['Patient has paid', dollars(claim.balances.patientPayment)],
      ['Copied from claim', claim.voidClaim.copyFromClaimId],
      ['Billing notes', claim.billingNotes],
    ]),
  ]);
}

function lines({ lineItems }: Claim): Html[] {
  const rows = lineItems.map((one) => [
    one.cptCode,
    one.description,
    one.modifiers.join(', '),
    one.units,
    one.icdPointers.join(', '),
    dollars(one.billedAmount),
    dollars(one.allowedAmount),
  ]);
  return table('Services', ['Code', 'Description', 'Modifiers', 'Units', 'For', 'Billed', 'Allowed'], rows);
}

function payments(claim: Claim): Html[] {
  const rows = claim.payments.map((one) => [
    one.paymentDate,
    one.payerName,
    one.paymentType,
    one.checkNumber,
    dollars(one.amount),
    dollars(one.adjustment),
    dollars(one.deductible),
    dollars(one.coinsurance),
    one.eraClaimStatus,
    Object.entries(one.eraAdjustmentCodes ?? {}).map(
      ([code, amount]) => html`<div class="nowrap">${code}: $${amount}</div>`,
    ),
  ]);
  const columns = [
    'Date',
    'Payer',
    'Type',
    'Check',
    'Paid',
    'Adjusted',
    'Deductible',
    'Coinsurance',
    'Remittance',
    'Codes',
  ];
  return table('Payments', columns, rows);
}

function insurances(claim: Claim): Html[] {
  const rows = claim.insurances.map((one) => [
    one.name,
    one.claimIndicatorDescription,
    one.insuranceType,
    one.subscriberName,
    one.subscriberNumber,
    one.groupNumber,
  ]);
  return table('Insurance', ['Company', 'Order', 'Type', 'Subscriber', 'Number', 'Group'], rows);
}

function submissions({ submissionHistory }: Claim): Html[] {
  const rows = submissionHistory.entries.map((one) => [one.date, one.method, one.payer, one.result]);
  return table('Submissions', ['Date', 'How', 'To', 'Result'], rows);
}

function activity({ activityLog }: Claim): Html[] {
  const rows = activityLog.map((one) => [one.date, one.action, one.category, one.notes, one.userName]);
  return table('Activity', ['Date', 'Action', 'Category', 'Notes', 'By'], rows);
}
