import type { FastifyInstance } from 'fastify';
import {
  directions,
  getReferral,
  priorities,
  type Referral,
  referrals,
  searchReferrals,
  statuses,
} from '../charts/referrals.ts';
import type { Context } from '../context.ts';
import { getPractice } from '../practice/practice.ts';
import { addHistory, fieldChanges } from '../records/history.ts';
import { updateRecord } from '../records/recordKind.ts';
import {
  type Content,
  factList,
  type Html,
  html,
  type Part,
  pageNumber,
  pagination,
  part,
  patientLink,
  section,
  table,
} from './html.ts';
import { errorAlert, type Frame, formToken, page } from './page.ts';
import { type Chart, chartRow, createTimeFormat } from './readChart.ts';
import { checkFormToken, frameFor, requireUser, sendPage } from './user.ts';

const PAGE_SIZE = 25;

type ReferralRequest = { Params: { referralId: string }; Body: Record<string, string> };

export function serveReferrals(app: FastifyInstance, context: Context): void {
  const { sql } = context;

  app.get<{ Querystring: { q?: string; status?: string; page?: string } }>('/referrals', async (request, reply) => {
    const user = await requireUser(context, request);
    const search = String(request.query.q ?? '')
      .trim()
      .slice(0, 100);
    const status = String(request.query.status ?? '').slice(0, 20);
    const paging = { page: pageNumber(request.query.page), pageSize: PAGE_SIZE };
    const list = await searchReferrals(sql, search, status, paging);
    return sendPage(reply, referralListPage(await frameFor(context, user), { search, status, ...list }));
  });

  app.get<ReferralRequest>('/referrals/:referralId', async (request, reply) => {
    const user = await requireUser(context, request);
    const referral = await readReferral(context, request.params.referralId);
    return sendPage(reply, referralPage(await frameFor(context, user), referral));
  });

  app.post<ReferralRequest>('/referrals/:referralId', async (request, reply) => {
    const user = await requireUser(context, request);
    checkFormToken(user, request.body);
    const shown = await readReferral(context, request.params.referralId);
    const statusCode = String(request.body.statusCode ?? '');
    if (!Object.hasOwn(statuses, statusCode)) {
      return sendPage(reply, referralPage(await frameFor(context, user), shown, 'Not saved. Choose a status.'), 422);
    }
    const { referralId } = shown.referral;
    await sql.begin(async (tx) => {
      const at = context.now();
      const change = await updateRecord(tx, referrals, referralId, { values: { statusCode }, at });
      await addHistory(tx, user.session.displayName, at, fieldChanges([change]));
    });
    return reply.redirect(referralPath(referralId), 303);
  });
}

/** The referrals of a chart. */
export function referralPart(chart: Chart): Part {
  const columns = ['Referral', 'Date', 'Direction', 'From', 'To', 'Priority', 'Status', 'Documents'];
  const rows = chart.referrals.map((each) => chartRow(chart, `referral-${each.referralId}`, listRow(each)));
  return part('Referrals', 'No referrals.', table('Referrals', columns, rows));
}

function listRow(referral: Referral): Content[] {
  return [
    html`<a href="${referralPath(referral.referralId)}">${referral.referralId}</a>`,
    referral.referralDate,
    directions[referral.direction],
    referral.fromProviderName ?? 'None',
    referral.toProviderName ?? 'None',
    priority(referral),
    statuses[referral.statusCode],
    referral.documents.length,
  ];
}

function priority({ priorityCode }: Referral): Content {
  const name = priorities[priorityCode];
  return priorityCode === 'R' ? name : html`<strong class="tag">${name}</strong>`;
}

interface ReferralList {
  search: string;
  status: string;
  total: number;
  page: number;
  pageSize: number;
  rows: Referral[];
}

function referralListPage(frame: Frame, list: ReferralList): Html {
  const columns = ['Referral', 'Patient', 'Date', 'Direction', 'From', 'To', 'Priority', 'Status', 'Documents'];
  const rows = list.rows.map((referral) => {
    const [id, ...rest] = listRow(referral);
    const name = `${referral.patientLastName}, ${referral.patientFirstName}`;
    return [id, patientLink(referral.patientId, name), ...rest];
  });
  return page(
    frame,
    'Referrals',
    html`<h1>Referrals</h1>
<form class="search" method="get" action="/referrals" role="search">
<div class="row fields">
<div><label for="q">Patient or MRN</label><input id="q" name="q" type="search" value="${list.search}" maxlength="100" autocomplete="off"></div>
<div><label for="status">Status</label><select id="status" name="status"><option value="">Any</option>
${statusOptions(list.status)}
</select></div>
<button>Search</button>
</div>
</form>
<p role="status">${list.total === 1 ? '1 referral' : `${list.total} referrals`}</p>
${rows.length > 0 && html`<section class="card">${table('Referrals', columns, rows)}</section>`}
${pagination('/referrals', list, { q: list.search, status: list.status })}`,
  );
}

interface ShownReferral {
  referral: Referral;
  time: (at: Date) => string;
}

async function readReferral({ sql }: Context, referralId: string): Promise<ShownReferral> {
  const referral = await getReferral(sql, referralId);
  return { referral, time: createTimeFormat((await getPractice(sql)).timeZone) };
}

function referralPage(frame: Frame, { referral, time }: ShownReferral, error?: string): Html {
  const name = `${referral.patientLastName}, ${referral.patientFirstName}`;
  return page(
    frame,
    `Referral ${referral.referralId}`,
    html`<p class="crumb"><a href="/referrals">Referrals</a></p>
<h1>Referral ${referral.referralId}</h1>
${section('Summary', '', [
  factList([
    ['Patient', patientLink(referral.patientId, name)],
    ['MRN', referral.mrn],
    ['Birth date', referral.birthDate],
    ['Direction', directions[referral.direction]],
    ['From', referral.fromProviderName ?? 'None'],
    ['To', referral.toProviderName ?? 'None'],
    ['Priority', priority(referral)],
    ['Urgency', referral.urgency],
    ['Reason', referral.reason],
    ['Status', statuses[referral.statusCode]],
    ['Diagnoses', referral.icdCodes.join(', ')],
    ['Referral date', referral.referralDate],
    ['Created', `${time(referral.createdAt)}, ${referral.createdBy}`],
    ['Last activity', time(referral.lastActivityAt)],
  ]),
])}
${section('Documents', 'No documents.', documents(referral))}
<section class="card narrow">
<h2>Status</h2>
${errorAlert(error)}
<form method="post" action="${referralPath(referral.referralId)}">
${formToken(frame.user?.form_token ?? '')}
<label for="statusCode">Status of the referral</label>
<select id="statusCode" name="statusCode">${statusOptions(referral.statusCode)}</select>
<div class="row"><button>Save</button><a class="button quiet" href="/referrals">Referrals</a></div>
</form>
</section>`,
  );
}

function documents(referral: Referral): Html[] {
  const chart = `/patients/${encodeURIComponent(referral.patientId)}`;
  const rows = referral.documents.map(({ documentId, fileName, contentType, sizeBytes }) => [
    html`<a href="${chart}/documents/${encodeURIComponent(documentId)}">${fileName}</a>`,
    contentType.replace(/^.*\//, '').toUpperCase(),
    `${Math.ceil(sizeBytes / 1024)} KB`,
  ]);
  return table('Documents', ['File', 'Type', 'Size'], rows);
}

function statusOptions(selected: string): Html[] {
  return Object.entries(statuses).map(
    ([code, label]) => html`<option value="${code}"${code === selected && html` selected`}>${label}</option>`,
  );
}

function referralPath(referralId: string): string {
  return `/referrals/${encodeURIComponent(referralId)}`;
}
