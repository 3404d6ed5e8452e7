import type { FastifyInstance } from 'fastify';
import { type Patient, patients } from '../charts/patients.ts';
import type { Context } from '../context.ts';
import { addHistory, fieldChanges } from '../records/history.ts';
import { getRecord, updateRecord } from '../records/recordKind.ts';
import { type Html, html } from './html.ts';
import { errorAlert, type Frame, formToken, page } from './page.ts';
import { checkFormToken, frameFor, requireUser, sendPage } from './user.ts';

type PatientRequest = { Params: { patientId: string }; Body: Record<string, string> };

export function serveContactDetails(app: FastifyInstance, context: Context): void {
  const { sql } = context;

  app.get<PatientRequest>('/patients/:patientId/edit', async (request, reply) => {
    const user = await requireUser(context, request);
    const patient = await getRecord(sql, patients, request.params.patientId);
    return sendPage(reply, contactPage(await frameFor(context, user), patient, fillForm(patient)));
  });

  app.post<PatientRequest>('/patients/:patientId/edit', async (request, reply) => {
    const user = await requireUser(context, request);
    checkFormToken(user, request.body);
    const { patientId } = request.params;
    const form = readForm(request.body);
    const errors = findErrors(form);
    if (Object.keys(errors).length > 0) {
      const patient = await getRecord(sql, patients, patientId);
      return sendPage(reply, contactPage(await frameFor(context, user), patient, form, errors), 422);
    }
    await sql.begin(async (tx) => {
      const at = context.now();
      const change = await updateRecord(tx, patients, patientId, { values: patientValues(form), at });
      await addHistory(tx, user.session.displayName, at, fieldChanges([change]));
    });
    return reply.redirect(`/patients/${encodeURIComponent(patientId)}`, 303);
  });
}

interface ContactForm {
  cellPhone: string;
  homePhone: string;
  email: string;
  line1: string;
  line2: string;
  city: string;
  state: string;
  zip: string;
}

type ContactErrors = Partial<Record<keyof ContactForm, string>>;

function contactPage(frame: Frame, patient: Patient, form: ContactForm, errors: ContactErrors = {}): Html {
  const chart = `/patients/${encodeURIComponent(patient.patientId)}`;
  return page(
    frame,
    `Edit ${patient.lastName}, ${patient.firstName}`,
    html`<p class="crumb"><a href="${chart}">${patient.lastName}, ${patient.firstName}</a></p>
<h1>Contact details</h1>
<section class="card narrow">
${Object.keys(errors).length > 0 && errorAlert('Not saved. Correct the marked fields.')}
<form method="post" action="${chart}/edit">
${formToken(frame.user?.form_token ?? '')}
${inputs.map((each) => input(each, form, errors))}
<div class="row"><button>Save</button><a class="button quiet" href="${chart}">Cancel</a></div>
</form>
</section>`,
  );
}

type Input = [field: keyof ContactForm, label: string, hint: string];

const inputs: Input[] = [
  ['cellPhone', 'Mobile phone', 'NNN-NNN-NNNN'],
  ['homePhone', 'Home phone', 'NNN-NNN-NNNN'],
  ['email', 'Email', ''],
  ['line1', 'Address line 1', ''],
  ['line2', 'Address line 2', ''],
  ['city', 'City', ''],
  ['state', 'State', 'Two letters'],
  ['zip', 'ZIP code', ''],
];

function input([field, label, hint]: Input, form: ContactForm, errors: ContactErrors): Html {
  const error = errors[field];
  return html`<label for="${field}">${label}</label>
<input id="${field}" name="${field}" value="${form[field]}" maxlength="200" autocomplete="off" aria-describedby="${field}-note"${error !== undefined && html` aria-invalid="true"`}>
<p id="${field}-note" class="${error === undefined ? 'hint' : 'field-error'}">${error ?? hint}</p>`;
}

function fillForm({ cellPhone, homePhone, email, address }: Patient): ContactForm {
  return {
    cellPhone: cellPhone ?? '',
    homePhone: homePhone ?? '',
    email: email ?? '',
    line1: address.line1,
    line2: address.line2 ?? '',
    city: address.city,
    state: address.state,
    zip: address.zip,
  };
}

function readForm(body: Record<string, string>): ContactForm {
  const value = (field: keyof ContactForm) =>
    String(body[field] ?? '')
      .trim()
      .slice(0, 200);
  return {
    cellPhone: value('cellPhone'),
    homePhone: value('homePhone'),
    email: value('email'),
    line1: value('line1'),
    line2: value('line2'),
    city: value('city'),
    state: value('state').toUpperCase(),
    zip: value('zip'),
  };
}

function findErrors(form: ContactForm): ContactErrors {
  const errors: ContactErrors = {};
  for (const [field, pattern, text] of rules) {
    if (form[field] !== '' && !pattern.test(form[field])) errors[field] = text;
  }
  return errors;
}

const rules: [field: keyof ContactForm, pattern: RegExp, text: string][] = [
  ['cellPhone', /^\d{3}-\d{3}-\d{4}$/, 'Enter a phone number like 518-555-0100.'],
  ['homePhone', /^\d{3}-\d{3}-\d{4}$/, 'Enter a phone number like 518-555-0100.'],
  ['email', /^[^\s@]+@[^\s@]+\.[^\s@]+$/, 'Enter an email address like name@example.org.'],
  ['state', /^[A-Z]{2}$/, 'Enter a two-letter state, such as NY.'],
  ['zip', /^\d{5}(-\d{4})?$/, 'Enter a ZIP code, such as 12999.'],
];

function patientValues({ cellPhone, homePhone, email, line1, line2, city, state, zip }: ContactForm): object {
  const address = { line1, line2: line2 || null, city, state, zip };
  return { cellPhone: cellPhone || null, homePhone: homePhone || null, email: email || null, address };
}
