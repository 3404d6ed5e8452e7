import { type Html, html } from './html.ts';
import { type Frame, page } from './page.ts';

export interface CodeRow {
  user_name: string;
  name: string;
  role: string;
  code: string;
}

export function codesPage(frame: Omit<Frame, 'title'>, rows: CodeRow[], seconds_left: number): Html {
  return page(
    { ...frame, title: 'One-time codes' },
    html`<h1>One-time codes</h1>
<p>In a clinic these come from each person’s authenticator; this sandbox shows them to whoever needs one.
They change in <strong>${seconds_left} seconds</strong>, and this page then loads again.</p>
<section class="card">
<div class="scroll" tabindex="0" role="region" aria-label="One-time codes">
<table>
<thead><tr><th scope="col">User name</th><th scope="col">Name</th><th scope="col">Role</th><th scope="col">Code</th></tr></thead>
<tbody>
${rows.map(
  (row) => html`<tr><th scope="row">${row.user_name}</th><td>${row.name}</td><td>${row.role}</td>
<td><span class="code">${row.code}</span></td></tr>`,
)}
</tbody>
</table>
</div>
</section>`,
  );
}
