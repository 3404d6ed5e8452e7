import type * as fhir from 'fhir/r4.js';
import type { ClaimSource } from '../../model/records/claims.ts';
import {
  type ClaimAnswer,
  insurancesOf,
  lineItemsOf,
  paymentOf,
  type Surroundings,
  sumOf,
  totalOf,
} from './claimParts.ts';
import { dayOf } from './clock.ts';
import { named } from './coverage.ts';
import type { List } from './lists.ts';
import { mrnOf } from './patients.ts';
import { type Emr, idIn, idsIn, type Resolver, referringTo } from './references.ts';
import { codeOf, first, grouped, list, nameOf, number, text, wordsOf } from './values.ts';

export const claims: List<fhir.Claim, ClaimSource> = {
  type: 'Claim',
  sources: sourcesOf,
  touching: [
    { type: 'ClaimResponse', owner: ({ request }: fhir.ClaimResponse) => idIn(request, 'Claim') },
    { type: 'ExplanationOfBenefit', owner: ({ claim }: fhir.ExplanationOfBenefit) => idIn(claim, 'Claim') },
  ],
};

async function sourcesOf(page: fhir.Claim[], emr: Emr, resolver: Resolver): Promise<ClaimSource[]> {
  // What was entered in error never was; questions about a claim (`preauthorization`) are not claims.
  const meant = page.filter(({ status, use }) => status !== 'entered-in-error' && (use ?? 'claim') === 'claim');
  const around = await surroundingsOf(meant, emr, resolver);
  return meant.map((each) => claimOf(each, around, emr.timezone)).filter((each) => each !== undefined);
}

async function surroundingsOf(page: fhir.Claim[], { client }: Emr, resolver: Resolver): Promise<Surroundings> {
  const references = page.map(({ id }) => `Claim/${id}`);
  const responses = await referringTo<fhir.ClaimResponse>(client, 'ClaimResponse', ['request'], references);
  const benefits = await referringTo<fhir.ExplanationOfBenefit>(client, 'ExplanationOfBenefit', ['claim'], references);
  const answers = answersOf(responses, benefits);
  const people = page.flatMap(({ provider, careTeam }) => [provider, ...list(careTeam).map((each) => each.provider)]);
  const roles = await resolver.load<fhir.PractitionerRole>('PractitionerRole', idsIn(people, 'PractitionerRole'));
  const seen = [...people, ...[...roles.values()].map(({ practitioner }) => practitioner)];
  const covered = page.flatMap(({ insurance }) => list(insurance).map(({ coverage }) => coverage));
  const coverages = await resolver.load<fhir.Coverage>('Coverage', idsIn(covered, 'Coverage'));
  const insured = await named([...coverages.values()], resolver);
  const visits = page.flatMap(({ item }) => list(item).flatMap(({ encounter }) => list(encounter)));
  const payers = [
    ...insured.map(({ coverage }) => list(coverage.payor)[0]),
    ...[...answers.values()].flat().map(({ insurer }) => insurer),
  ];
  return {
    answers,
    roles,
    patients: await resolver.load<fhir.Patient>(
      'Patient',
      idsIn(
        page.map(({ patient }) => patient),
        'Patient',
      ),
    ),
    practitioners: await resolver.load<fhir.Practitioner>('Practitioner', idsIn(seen, 'Practitioner')),
    encounters: await resolver.load<fhir.Encounter>('Encounter', idsIn(visits, 'Encounter')),
    coverages: new Map(insured.map((each) => [each.coverage.id ?? '', each])),
    companies: await resolver.load<fhir.Organization>('Organization', idsIn(payers, 'Organization')),
  };
}

/** An explanation of benefits that only repeats an answer which we have is not counted a second time. */
function answersOf(
  responses: readonly fhir.ClaimResponse[],
  benefits: readonly fhir.ExplanationOfBenefit[],
): Map<string, ClaimAnswer[]> {
  const known = new Set(responses.map(({ id }) => id));
  const alone = benefits.filter(({ claimResponse }) => !known.has(idIn(claimResponse, 'ClaimResponse') ?? undefined));
  const valid = [...responses, ...alone].filter(({ status }) => status === 'active');
  return grouped(valid, (answer) => claimIn(answer) ?? '');
}

function claimIn(answer: ClaimAnswer): string | null {
  return idIn(answer.resourceType === 'ClaimResponse' ? answer.request : answer.claim, 'Claim');
}

/** A claim without any day, not even that on which it was made, has no place in a list by days. */
export function claimOf(claim: fhir.Claim, around: Surroundings, timezone: string): ClaimSource | undefined {
  const service_date = serviceDateOf(claim, timezone);
  if (service_date === null) return undefined;
  const answers = around.answers.get(claim.id ?? '') ?? [];
  const patient_id = idIn(claim.patient, 'Patient');
  const patient = around.patients.get(patient_id ?? '');
  const role = around.roles.get(idIn(claim.provider, 'PractitionerRole') ?? '');
  const provider_id = idIn(claim.provider, 'Practitioner') ?? idIn(role?.practitioner, 'Practitioner');
  const [latest] = answers.toSorted((a, b) => (text(b.created) ?? '').localeCompare(text(a.created) ?? ''));
  return {
    ehr_id: claim.id ?? '',
    patient_mrn: patient ? mrnOf(patient) : null,
    emr_appointment_id: appointmentOf(claim, around),
    service_date,
    claim_date: dayOf(claim.created, timezone),
    claim_status: text(claim.status),
    claim_status_description: text(latest?.disposition) ?? text(latest?.outcome),
    claim_type: codeOf(claim.type),
    void_flag: claim.status === 'cancelled',
    emr_patient_id: patient_id,
    patient_name: nameOf(patient?.name).full ?? text(claim.patient?.display),
    emr_provider_id: provider_id,
    provider_name: nameOf(around.practitioners.get(provider_id ?? '')?.name).full ?? text(claim.provider?.display),
    ...moneyOf(claim, answers),
    icd_codes: diagnosesOf(claim),
    billing_notes: null,
    insurances: insurancesOf(claim, around),
    void_claim: voidedBy(claim),
    submission_history: { created_by: text(claim.enterer?.display), entries: [], auto_claim_data: {} },
    billing_activity_log: [],
    line_items: lineItemsOf(claim, answers, around, timezone),
    payments: answers.flatMap((answer) => paymentOf(answer, around, timezone)),
  };
}

/** The first day that something was done on; a claim that says none is dated by itself. */
function serviceDateOf({ billablePeriod, item, created }: fhir.Claim, timezone: string): string | null {
  const served = list(item)
    .map(({ servicedDate, servicedPeriod }) => dayOf(servicedDate, timezone) ?? dayOf(servicedPeriod?.start, timezone))
    .filter((day) => day !== null)
    .sort();
  return dayOf(billablePeriod?.start, timezone) ?? served[0] ?? dayOf(created, timezone);
}

function appointmentOf({ item }: fhir.Claim, { encounters }: Surroundings): string | null {
  const visits = idsIn(
    list(item).flatMap(({ encounter }) => list(encounter)),
    'Encounter',
  );
  return first(visits, (id) => idsIn(list(encounters.get(id)?.appointment), 'Appointment')[0] ?? null);
}

function diagnosesOf({ diagnosis }: fhir.Claim): string[] {
  const ordered = list(diagnosis).toSorted((a, b) => (number(a.sequence) ?? 0) - (number(b.sequence) ?? 0));
  return ordered
    .map(({ diagnosisCodeableConcept: concept }) => codeOf(concept) ?? wordsOf(concept))
    .filter((code) => code !== null);
}

/** What is not told stays unknown: of a claim that nobody has answered only the charge is. */
function moneyOf(claim: fhir.Claim, answers: readonly ClaimAnswer[]) {
  const charge = number(claim.total?.value) ?? sumOf(list(claim.item).map(({ net }) => number(net?.value)));
  const paid = sumOf(answers.map(({ payment }) => number(payment?.amount?.value)));
  const adjusted = sumOf(answers.map(({ payment }) => number(payment?.adjustment?.value)));
  const owed =
    totalOf(answers, ['memberliability', 'patientpay']) ?? totalOf(answers, ['deductible', 'copay', 'coinsurance']);
  const balance = charge === null || paid === null ? null : sumOf([charge, -paid, adjusted === null ? 0 : -adjusted]);
  const shown = (amount: number | null) => amount?.toFixed(2) ?? null;
  return {
    total_charge: charge,
    total_payment: paid,
    net_payment: paid,
    balance,
    net_adjustment: adjusted,
    patient_responsibility: owed,
    balances: {
      invoice_amount: shown(charge),
      total_payment: shown(paid),
      net_payment: shown(paid),
      balance: shown(balance),
      patient_balance: null,
      patient_payment: null,
      patient_responsibility: shown(owed),
      on_plan: null,
    },
  };
}

/** Claims that this one takes the place of. */
function voidedBy({ related }: fhir.Claim): ClaimSource['void_claim'] {
  const by = (code: string) =>
    first(list(related), ({ claim, relationship }) => (codeOf(relationship) === code ? idIn(claim, 'Claim') : null));
  return { void_to_claim_id: null, void_from_claim_id: by('prior'), copy_to_claim_id: null, copy_from_claim_id: null };
}
