import type { Patient } from '../charts/patients.ts';
import { type Html, html } from './html.ts';
import { alert, type Frame, formToken, page } from './page.ts';

export interface ContactForm {
  cellPhone: string;
  homePhone: string;
  email: string;
  line1: string;
  line2: string;
  city: string;
  state: string;
  zip: string;
}

export type ContactErrors = Partial<Record<keyof ContactForm, string>>;

export function editPage(
  frame: Omit<Frame, 'title'>,
  patient: Patient,
  values: ContactForm,
  errors: ContactErrors = {},
): Html {
  const chart = `/patients/${encodeURIComponent(patient.patientId)}`;
  return page(
    { ...frame, title: `Edit ${patient.lastName}, ${patient.firstName}` },
    html`<p class="crumb"><a href="${chart}">${patient.lastName}, ${patient.firstName}</a></p>
<h1>Contact details</h1>
<section class="card narrow">
${Object.keys(errors).length > 0 && alert('Nothing was saved: please mend the marked fields.')}
<form method="post" action="${chart}/edit">
${formToken(frame.user?.form_token ?? '')}
${inputs.map(([field, label, autocomplete]) => input(field, label, autocomplete, values[field], errors[field]))}
<div class="row"><button>Save</button><a class="button quiet" href="${chart}">Cancel</a></div>
</form>
</section>`,
  );
}

const inputs: [field: keyof ContactForm, label: string, hint: string][] = [
  ['cellPhone', 'Mobile', 'NNN-NNN-NNNN'],
  ['homePhone', 'Home phone', 'NNN-NNN-NNNN'],
  ['email', 'Email', ''],
  ['line1', 'Address, line 1', ''],
  ['line2', 'Address, line 2', ''],
  ['city', 'City', ''],
  ['state', 'State', 'Two letters'],
  ['zip', 'ZIP code', ''],
];

function input(field: keyof ContactForm, label: string, hint: string, value: string, error: string | undefined): Html {
  const note = error ?? hint;
  return html`<label for="${field}">${label}</label>
<input id="${field}" name="${field}" value="${value}" maxlength="200" autocomplete="off" aria-describedby="${field}-note"${error !== undefined && html` aria-invalid="true"`}>
<p id="${field}-note" class="${error === undefined ? 'hint' : 'field-error'}">${note}</p>`;
}
