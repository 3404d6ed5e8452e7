import type { Patient } from '../charts/patients.ts';
import { type Html, html } from './html.ts';
import { type Frame, page } from './page.ts';
import { pages } from './parts.ts';

export interface PatientList {
  words: string;
  total: number;
  page: number;
  pageSize: number;
  rows: Patient[];
}

export function patientsPage(frame: Omit<Frame, 'title'>, list: PatientList): Html {
  return page(
    { ...frame, title: 'Patients' },
    html`<h1>Patients</h1>
<form class="search" method="get" action="/patients" role="search">
<label for="q">Name or MRN</label>
<div class="row">
<input id="q" name="q" type="search" value="${list.words}" maxlength="100" autocomplete="off">
<button>Search</button>
</div>
</form>
<p role="status">${list.total === 1 ? '1 patient' : `${list.total} patients`}${list.words !== '' && html` for “${list.words}”`}</p>
${list.rows.length > 0 && table(list.rows)}
${pages('/patients', list, { q: list.words })}`,
  );
}

function table(rows: Patient[]): Html {
  return html`<section class="card">
<div class="scroll" tabindex="0" role="region" aria-label="Patients">
<table>
<thead><tr><th scope="col">Name</th><th scope="col">MRN</th><th scope="col">Born</th><th scope="col">Sex</th>
<th scope="col">Phone</th><th scope="col">Insurance</th></tr></thead>
<tbody>
${rows.map(
  (row) => html`<tr>
<th scope="row"><a href="/patients/${encodeURIComponent(row.patientId)}">${row.lastName}, ${row.firstName} ${row.middleName}</a></th>
<td class="nowrap">${row.mrn}</td><td class="nowrap">${row.birthDate}</td><td>${row.sexCode}</td>
<td class="nowrap">${row.cellPhone ?? row.homePhone}</td><td>${row.primaryInsuranceName ?? 'None'}</td>
</tr>`,
)}
</tbody>
</table>
</div>
</section>`;
}
