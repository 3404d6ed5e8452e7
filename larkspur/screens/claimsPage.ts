import type { Claim } from '../charts/claims.ts';
import { type Html, html } from './html.ts';
import { type Frame, page } from './page.ts';
import { dollars, pages, table } from './parts.ts';

export interface ClaimList {
  words: string;
  status: string;
  statuses: { statusCode: string; statusDescription: string }[];
  total: number;
  page: number;
  pageSize: number;
  rows: Claim[];
}

export function claimsPage(frame: Omit<Frame, 'title'>, list: ClaimList): Html {
  const rows = list.rows.map((one) => [
    html`<a href="/claims/${encodeURIComponent(one.claimId)}">${one.claimId}</a>`,
    one.serviceDate,
    html`<a href="/patients/${encodeURIComponent(one.patientId)}">${one.patientName}</a>`,
    one.providerName,
    one.statusDescription,
    dollars(one.totalCharge),
    dollars(one.totalPayment),
    dollars(one.balance),
  ]);
  const columns = ['Claim', 'Service', 'Patient', 'Provider', 'Status', 'Charge', 'Paid', 'Balance'];
  return page(
    { ...frame, title: 'Claims' },
    html`<h1>Claims</h1>
<form class="search" method="get" action="/claims" role="search">
<div class="row fields">
<div><label for="q">Claim, patient or MRN</label><input id="q" name="q" type="search" value="${list.words}" maxlength="100" autocomplete="off"></div>
<div><label for="status">Status</label><select id="status" name="status"><option value="">Any</option>
${list.statuses.map((one) => html`<option value="${one.statusCode}"${one.statusCode === list.status && html` selected`}>${one.statusDescription}</option>`)}
</select></div>
<button>Search</button>
</div>
</form>
<p role="status">${list.total === 1 ? '1 claim' : `${list.total} claims`}</p>
${rows.length > 0 && html`<section class="card">${table('Claims', columns, rows)}</section>`}
${pages('/claims', list, { q: list.words, status: list.status })}`,
  );
}
