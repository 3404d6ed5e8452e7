import type { FastifyInstance } from 'fastify';
import { mergePatients } from '../charts/mergePatients.ts';
import { type Patient, patients } from '../charts/patients.ts';
import type { Context } from '../context.ts';
import { EmrError } from '../errors.ts';
import { addHistory, fieldChanges } from '../records/history.ts';
import { findRecords, getRecord } from '../records/recordKind.ts';
import { chartPath, factList, type Html, html } from './html.ts';
import { errorAlert, type Frame, formToken, page } from './page.ts';
import { checkFormToken, frameFor, requireUser, sendPage } from './user.ts';

type MergeRequest = {
  Params: { patientId: string };
  Querystring: { mrn?: string };
  Body: Record<string, string>;
};

/** Merging a duplicate chart: staff enter the MRN of the surviving one, compare both, and confirm. */
export function serveMergeCharts(app: FastifyInstance, context: Context): void {
  const { sql } = context;

  app.get<MergeRequest>('/patients/:patientId/merge', async (request, reply) => {
    const user = await requireUser(context, request);
    const duplicate = await getRecord(sql, patients, request.params.patientId);
    const mrn = String(request.query.mrn ?? '').trim();
    const frame = await frameFor(context, user);
    if (mrn === '') return sendPage(reply, mergePage(frame, duplicate, { mrn }));
    const [surviving] = await findRecords(sql, patients, { mrn });
    const error = findError(duplicate, surviving);
    return sendPage(reply, mergePage(frame, duplicate, { mrn, surviving, error }), error ? 422 : 200);
  });

  app.post<MergeRequest>('/patients/:patientId/merge', async (request, reply) => {
    const user = await requireUser(context, request);
    checkFormToken(user, request.body);
    const { patientId } = request.params;
    const into = String(request.body.intoPatientId ?? '');
    try {
      await sql.begin(async (tx) => {
        const at = context.now();
        const changes = await mergePatients(tx, patientId, into, at);
        await addHistory(tx, user.session.displayName, at, fieldChanges(changes));
      });
    } catch (error) {
      if (!(error instanceof EmrError)) throw error;
      const duplicate = await getRecord(sql, patients, patientId);
      const failed = { mrn: '', error: `Not merged. ${error.message}` };
      return sendPage(reply, mergePage(await frameFor(context, user), duplicate, failed), 422);
    }
    return reply.redirect(chartPath(into), 303);
  });
}

function findError(duplicate: Patient, surviving: Patient | undefined): string | undefined {
  if (!surviving) return 'No chart has this MRN.';
  if (surviving.patientId === duplicate.patientId) return 'A chart cannot be merged into itself.';
  if (surviving.mergedInto !== null) return 'The chart with this MRN was merged into another one.';
  return undefined;
}

type Form = { mrn: string; surviving?: Patient | undefined; error?: string | undefined };

function mergePage(frame: Frame, duplicate: Patient, { mrn, surviving, error }: Form): Html {
  const chart = chartPath(duplicate.patientId);
  const name = `${duplicate.lastName}, ${duplicate.firstName}`;
  return page(
    frame,
    `Merge ${name}`,
    html`<p class="crumb"><a href="${chart}">${name}</a></p>
<h1>Merge into another chart</h1>
<section class="card narrow">
${errorAlert(error)}
<p>Everything in the chart of ${name} (MRN ${duplicate.mrn}) moves to the other chart. This cannot be undone.</p>
<form method="get" action="${chart}/merge">
<label for="mrn">MRN of the surviving chart</label>
<div class="row"><input id="mrn" name="mrn" value="${mrn}" maxlength="200" autocomplete="off" required><button>Compare</button></div>
</form>
</section>
${surviving !== undefined && error === undefined && confirmation(frame, duplicate, surviving)}`,
  );
}

function confirmation(frame: Frame, duplicate: Patient, surviving: Patient): Html {
  return html`<div class="columns">${describe('Duplicate', duplicate)}${describe('Surviving chart', surviving)}</div>
<form method="post" action="${chartPath(duplicate.patientId)}/merge">
${formToken(frame.user?.form_token ?? '')}
<input type="hidden" name="intoPatientId" value="${surviving.patientId}">
<div class="row"><button>Merge into ${surviving.mrn}</button><a class="button quiet" href="${chartPath(duplicate.patientId)}">Cancel</a></div>
</form>`;
}

function describe(title: string, chart: Patient): Html {
  return html`<section class="card narrow"><h2>${title}</h2>
${factList([
  ['Name', `${chart.lastName}, ${chart.firstName}`],
  ['MRN', chart.mrn],
  ['Birth date', chart.birthDate],
  ['Sex', chart.sexCode],
  ['Phone', chart.cellPhone ?? chart.homePhone],
  ['Insurance', chart.primaryInsuranceName],
])}
</section>`;
}
