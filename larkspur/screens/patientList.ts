import type { FastifyInstance } from 'fastify';
import { type Patient, searchPatients } from '../charts/patients.ts';
import type { Context } from '../context.ts';
import { type Html, html, nowrap, pageNumber, pagination, patientLink, table } from './html.ts';
import { type Frame, page } from './page.ts';
import { frameFor, requireUser, sendPage } from './user.ts';

const PAGE_SIZE = 25;

export function servePatientList(app: FastifyInstance, context: Context): void {
  app.get<{ Querystring: { q?: string; page?: string } }>('/patients', async (request, reply) => {
    const user = await requireUser(context, request);
    const search = String(request.query.q ?? '').slice(0, 100);
    const paging = { page: pageNumber(request.query.page), pageSize: PAGE_SIZE };
    const list = await searchPatients(context.sql, search, paging);
    return sendPage(reply, patientListPage(await frameFor(context, user), { search, ...list }));
  });
}

interface PatientList {
  search: string;
  total: number;
  page: number;
  pageSize: number;
  rows: Patient[];
}

function patientListPage(frame: Frame, list: PatientList): Html {
  const rows = list.rows.map((row) => [
    patientLink(row.patientId, html`${row.lastName}, ${row.firstName} ${row.middleName}`),
    [nowrap(row.mrn), row.mergedInto !== null && html` <strong class="tag">Merged</strong>`],
    nowrap(row.birthDate),
    row.sexCode,
    nowrap(row.cellPhone ?? row.homePhone),
    row.primaryInsuranceName ?? 'None',
  ]);
  const columns = ['Name', 'MRN', 'Birth date', 'Sex', 'Phone', 'Insurance'];
  return page(
    frame,
    'Patients',
    html`<h1>Patients</h1>
<form class="search" method="get" action="/patients" role="search">
<label for="q">Name or MRN</label>
<div class="row">
<input id="q" name="q" type="search" value="${list.search}" maxlength="100" autocomplete="off">
<button>Search</button>
</div>
</form>
<p role="status">${list.total === 1 ? '1 patient' : `${list.total} patients`}${list.search !== '' && html` matching “${list.search}”`}</p>
${rows.length > 0 && html`<section class="card">${table('Patients', columns, rows)}</section>`}
${pagination('/patients', list, { q: list.search })}`,
  );
}
