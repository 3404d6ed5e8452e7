import { TELEPHONE } from '../charts/encounters.ts';
import { FREE_STATUSES } from '../practice/scheduling.ts';
import { type Content, chartPath, dollars, type Html, html } from './html.ts';
import type { Chart } from './readChart.ts';
import { visitPath } from './visit.ts';

/** The patient, above every tab of the chart. It stays visible while the page scrolls. */
export function patientBanner(chart: Chart): Html {
  const { patient, alerts, balances, today } = chart;
  const pcp = [patient.pcpFirstName, patient.pcpLastName].filter(Boolean).join(' ');
  const allergies = listAllergies(chart);
  const others = alerts.globalAlerts.filter(({ name }) => !allergies.includes(name)).map(({ name }) => name);
  const warnings = [...others, ...(alerts.billingAlert === 'Y' ? ['Billing alert'] : [])];
  return html`<div class="banner">
<div class="identity">
<h1>${patient.lastName}, ${patient.firstName} ${patient.middleName}</h1>
<p class="facts"><span>${sexes[patient.sexCode]}</span>${patient.birthDate !== null && html`<span>${age(patient.birthDate, today)} years</span>`}<span>Born ${patient.birthDate ?? 'unknown'}</span><span>MRN <strong>${patient.mrn}</strong></span></p>
</div>
<dl>
<div><dt>Allergies</dt><dd>${allergies.length > 0 ? tags(allergies) : 'None recorded'}</dd></div>
<div><dt>Alerts</dt><dd>${warnings.length > 0 ? tags(warnings) : 'None'}</dd></div>
<div><dt>PCP</dt><dd>${pcp === '' ? 'None' : pcp}</dd></div>
<div class="wide-only"><dt>Balance</dt><dd>${dollars(balances.patientBalance)}</dd></div>
</dl>
</div>`;
}

/** What matters at first sight, with links to the details. */
export function chartSummary(chart: Chart): Html {
  const { patient, insurances, balances, tasks, telephoneEncounters, name, time } = chart;
  const primary = insurances.find(({ priority, inForceFlag }) => priority === 1 && inForceFlag === 'Y');
  const open_tasks = tasks.filter(({ statusCode }) => statusCode === 'OPN');
  return html`<div class="summary">
${card('Problems', 'None recorded.', problems(chart))}
${card('Current medications', 'None.', medications(chart))}
${card('Upcoming visits', 'None booked.', upcomingVisits(chart))}
${card('Balance and coverage', '', [
  html`Patient balance <strong>${dollars(balances.patientBalance)}</strong>`,
  html`Account balance ${dollars(balances.accountBalance)}`,
  html`${primary ? `${primary.companyName}, ${primary.subscriberNumber}` : patient.selfPayFlag === 'Y' ? 'Self pay' : 'No insurance'}`,
])}
${card(
  'Recent calls',
  'None.',
  telephoneEncounters
    .slice(0, ROWS)
    .map(
      (call) =>
        html`<a href="#encounter-${call.encounterId}">${call.reason ?? 'Telephone encounter'}</a>, ${name('staff', call.assignedTo)}<br><span class="muted">${time(call.createdAt)}</span>`,
    ),
)}
${card(
  'Open tasks',
  'None.',
  open_tasks
    .slice(0, ROWS)
    .map((task) => html`<a href="#task-${task.taskId}">${task.subject}</a>, ${name('staff', task.assignedTo)}`),
)}
</div>
${patient.mergedInto === null && html`<p class="actions"><a class="button quiet" href="${chartPath(patient.patientId)}/edit">Edit contact details</a> <a class="button quiet" href="${chartPath(patient.patientId)}/documents/new">Add document</a> <a class="button quiet" href="${chartPath(patient.patientId)}/merge">Merge</a></p>`}`;
}

const ROWS = 4;

const sexes = { F: 'Female', M: 'Male', U: 'Sex unknown' };

/** Of both dates as MM/DD/YYYY. */
function age(birthDate: string, today: string): number {
  const [month = '', day = '', year = ''] = birthDate.split('/');
  const [this_month = '', this_day = '', this_year = ''] = today.split('/');
  const had_birthday = `${this_month}${this_day}` >= `${month}${day}`;
  return Number(this_year) - Number(year) - (had_birthday ? 0 : 1);
}

/** Charts have no list of allergies: they are clinical alerts. */
function listAllergies({ alerts }: Chart): string[] {
  return alerts.globalAlerts.filter(({ name }) => /allerg/i.test(name)).map(({ name }) => name);
}

function tags(names: string[]): Content {
  return names.map((name) => html`<strong class="tag">${name}</strong> `);
}

function card(title: string, emptyText: string, items: Html[]): Html {
  return html`<section class="card"><h2>${title}</h2>${items.length > 0 ? html`<ul>${items.map((item) => html`<li>${item}</li>`)}</ul>` : html`<p class="muted">${emptyText}</p>`}</section>`;
}

function problems({ problems: all }: Chart): Html[] {
  return all
    .slice(0, ROWS + 1)
    .map(
      ({ code, description, lastSeen }) =>
        html`${description} <span class="muted">${code}, last seen ${lastSeen}</span>`,
    );
}

function medications({ medications: all }: Chart): Html[] {
  return all
    .filter(({ activeFlag }) => activeFlag === 'Y')
    .map(
      ({ name, strength, frequency }) =>
        html`${name.includes(strength) ? name : `${name} ${strength}`} <span class="muted">${frequency}</span>`,
    );
}

/** Soonest first. */
function upcomingVisits({ encounters, today, visitType, name }: Chart): Html[] {
  return encounters
    .filter(({ visitType: type, statusCode }) => type !== TELEPHONE && !FREE_STATUSES.includes(statusCode))
    .filter(({ date }) => sortable(date) >= sortable(today))
    .slice(-ROWS)
    .toReversed()
    .map(
      (visit) =>
        html`<a href="${visitPath(visit.encounterId)}">${visit.date} ${visit.startTime}</a>, ${visitType(visit.visitType)}<br><span class="muted">${name('provider', visit.providerId)}, ${visit.facilityName}</span>`,
    );
}

/** MM/DD/YYYY as YYYYMMDD. */
function sortable(date: string): string {
  const [month = '', day = '', year = ''] = date.split('/');
  return year + month + day;
}
