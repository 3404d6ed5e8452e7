import type * as fhir from 'fhir/r4.js';
import { payers } from './organizations.ts';
import { type Coded, dayFrom, pickReference, type SeedContext, times } from './sizes.ts';

/** Coverages of most patients, eligibility checks of some, claims of all, and adjudications of some of them. */
export function makeBilling(seed: SeedContext): fhir.FhirResource[] {
  const { size } = seed;
  return [
    ...times(size.patients, (index) => makeCoverages(seed, index)).flat(),
    ...times(size.claims, (index) => makeClaim(seed, index)).flat(),
    ...times(size.patients, (index) => makeInvoices(index)).flat(),
    ...times(size.patients, (index) => makeEligibility(seed, index)).flat(),
  ];
}

/** Two open invoices of every third patient, one of them to the insurance, and one that is paid. */
function makeInvoices(index: number): fhir.Invoice[] {
  if (index % 3 !== 0) return [];
  const subject = { reference: `Patient/pat-${index + 1}` };
  const invoice = (suffix: string, cents: number, more: Partial<fhir.Invoice>): fhir.Invoice => ({
    resourceType: 'Invoice',
    id: `inv-${index + 1}${suffix}`,
    status: 'issued',
    subject,
    totalGross: usd(cents),
    ...more,
  });
  return [
    invoice('a', 4010, { recipient: subject }),
    invoice('b', 8020, { recipient: { reference: 'Organization/payer-1' } }),
    invoice('c', 9900, { status: 'balanced' }),
  ];
}

function makeCoverages(seed: SeedContext, index: number): fhir.Coverage[] {
  const patient = `Patient/pat-${index + 1}`;
  if (index % 10 === 9) return [];
  const bare: fhir.Coverage = {
    resourceType: 'Coverage',
    id: `cov-${index + 1}`,
    status: 'active',
    beneficiary: { reference: patient },
    payor: [{ reference: `Organization/${pickReference(seed, 'payer', payers)}` }],
  };
  if (index % 40 === 11) return [bare];
  const related = index % 5 === 2;
  const first: fhir.Coverage = {
    ...bare,
    subscriberId: `TST${100001 + index}`,
    order: 1,
    relationship: {
      coding: [{ system: relationships, code: related ? 'child' : 'self' }],
    },
    subscriber: { reference: related ? `RelatedPerson/rel-${index + 1}` : patient },
    period: { start: dayFrom(seed, -400) },
    class: [{ type: { coding: [{ system: classes, code: 'group' }] }, value: `GRP${10 + (index % 7)}` }],
    costToBeneficiary: [{ type: { coding: [{ system: copays, code: 'copay' }] }, valueMoney: usd(2500) }],
  };
  const second: fhir.Coverage = { ...first, id: `cov-${index + 1}b`, order: 2, subscriberId: `SEC${100001 + index}` };
  return index % 6 === 0 ? [first, second] : [first];
}

/** Every fourth patient was checked once; one answer in three is an error, a refusal or without benefits. */
function makeEligibility(seed: SeedContext, index: number): fhir.CoverageEligibilityResponse[] {
  if (index % 4 !== 0) return [];
  const turn = (index / 4) % 3;
  const concept = (code: string, display: string) => ({ coding: [{ code, display }] });
  const benefit = (code: string, display: string, dollars: number) => ({
    type: concept(code, display),
    allowedMoney: usd(dollars * 100),
  });
  return [
    {
      resourceType: 'CoverageEligibilityResponse',
      id: `elig-${index + 1}`,
      status: 'active',
      purpose: ['benefits'],
      patient: { reference: `Patient/pat-${index + 1}` },
      servicedDate: dayFrom(seed, -1 - (index % 30)),
      created: `${dayFrom(seed, -1 - (index % 30))}T15:04:05Z`,
      requestor: { reference: 'Practitioner/prac-1' },
      request: { display: 'Eligibility request' },
      outcome: turn === 1 ? 'error' : 'complete',
      ...(turn === 1 && { disposition: 'Subscriber not found.', error: [{ code: concept('a001', 'Missing') }] }),
      insurer: { reference: 'Organization/payer-1' },
      insurance: [
        {
          coverage: { reference: `Coverage/cov-${index + 1}` },
          ...(turn !== 1 && { inforce: turn === 0 }),
          benefitPeriod: { start: dayFrom(seed, -200), end: dayFrom(seed, 165) },
          ...(turn === 0 && {
            item: [
              {
                category: concept('30', 'Health Benefit Plan Coverage'),
                network: concept('in', 'In Network'),
                unit: concept('individual', 'Individual'),
                term: concept('annual', 'Annual'),
                benefit: [
                  benefit('deductible', 'Deductible', 1250),
                  benefit('out-of-pocket', 'Out of pocket', 5000),
                  { type: concept('copay-percent', 'Copayment Percent'), allowedUnsignedInt: 20 },
                ],
              },
              { category: concept('35', 'Dental Care'), excluded: true, description: 'No dental plan' },
            ],
          }),
        },
      ],
    },
  ];
}

function makeClaim(seed: SeedContext, index: number): fhir.FhirResource[] {
  const { chance, size } = seed;
  const number = 1 + chance.below(size.patients);
  const patient = { reference: `Patient/pat-${number}` };
  const provider = { reference: `Practitioner/${pickReference(seed, 'prac', size.doctors)}` };
  const insurer = { reference: `Organization/${pickReference(seed, 'payer', payers)}` };
  const days = -1 - chance.below(700);
  const id = `claim-${index + 1}`;
  const cents = 4000 + chance.below(30000);
  const covered = (number - 1) % 10 !== 9;
  const claim: fhir.Claim = {
    resourceType: 'Claim',
    id,
    status: index % 50 === 3 ? 'cancelled' : 'active',
    type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/claim-type', code: 'professional' }] },
    use: 'claim',
    patient,
    created: dayFrom(seed, days + 1),
    provider,
    priority: { coding: [{ code: 'normal' }] },
    insurance: [
      {
        sequence: 1,
        focal: true,
        coverage: covered ? { reference: `Coverage/cov-${number}` } : { display: 'Self pay' },
      },
    ],
  };
  if (index % 100 === 50) return [claim];
  const full_claim: fhir.Claim = {
    ...claim,
    billablePeriod: { start: dayFrom(seed, days), end: dayFrom(seed, days) },
    insurer,
    diagnosis: [{ sequence: 1, diagnosisCodeableConcept: { coding: [{ system: icd, ...chance.pick(diagnoses) }] } }],
    item: [makeItem(seed, 1, days, cents)],
    total: usd(cents),
  };
  const adjudicated = {
    claim: full_claim,
    patient,
    insurer,
    provider,
    cents,
    day: dayFrom(seed, Math.min(days + 14, 0)),
  };
  if (index % 5 < 2) return [full_claim, makeResponse(id, adjudicated)];
  return index % 5 === 2 ? [full_claim, makeBenefit(id, adjudicated)] : [full_claim];
}

function makeItem({ chance, ...seed }: SeedContext, sequence: number, days: number, cents: number): fhir.ClaimItem {
  return {
    sequence,
    diagnosisSequence: [1],
    productOrService: { coding: [{ system: 'http://www.ama-assn.org/go/cpt', ...chance.pick(services) }] },
    servicedDate: dayFrom({ chance, ...seed }, days),
    locationCodeableConcept: { coding: [{ system: 'https://www.cms.gov/place-of-service', code: '11' }] },
    quantity: { value: 1 },
    unitPrice: usd(cents),
    net: usd(cents),
  };
}

type AdjudicationInput = {
  claim: fhir.Claim;
  patient: fhir.Reference;
  insurer: fhir.Reference;
  provider: fhir.Reference;
  cents: number;
  day: string;
};

function makeResponse(id: string, { claim, patient, insurer, cents, day }: AdjudicationInput): fhir.ClaimResponse {
  const paid = Math.round(cents * 0.7);
  return {
    resourceType: 'ClaimResponse',
    id: `resp-${id}`,
    status: 'active',
    type: claim.type,
    use: 'claim',
    patient,
    created: day,
    insurer,
    request: { reference: `Claim/${id}` },
    outcome: 'complete',
    disposition: 'Claim settled as per contract.',
    item: [{ itemSequence: 1, adjudication: makeAdjudications(cents, paid) }],
    total: makeAdjudications(cents, paid).map(({ category, amount }) => ({ category, amount: amount ?? usd(0) })),
    payment: {
      type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/ex-paymenttype', code: 'complete' }] },
      date: day,
      amount: usd(paid),
      identifier: { system: 'urn:meadowbrook:check', value: `CHK-${id}` },
    },
  };
}

function makeBenefit(
  id: string,
  { claim, patient, insurer, provider, cents, day }: AdjudicationInput,
): fhir.ExplanationOfBenefit {
  const paid = Math.round(cents * 0.6);
  return {
    resourceType: 'ExplanationOfBenefit',
    id: `eob-${id}`,
    status: 'active',
    type: claim.type,
    use: 'claim',
    patient,
    created: day,
    insurer,
    provider,
    claim: { reference: `Claim/${id}` },
    outcome: 'complete',
    insurance: claim.insurance.map(({ focal, coverage }) => ({ focal, coverage })),
    item: [
      {
        sequence: 1,
        productOrService: claim.item?.[0]?.productOrService ?? {},
        adjudication: makeAdjudications(cents, paid),
      },
    ],
    total: makeAdjudications(cents, paid).map(({ category, amount }) => ({ category, amount: amount ?? usd(0) })),
    payment: { date: day, amount: usd(paid), identifier: { value: `EFT-${id}` } },
  };
}

function makeAdjudications(cents: number, paid: number): fhir.ClaimResponseItemAdjudication[] {
  const category = (code: string) => ({
    coding: [{ system: 'http://terminology.hl7.org/CodeSystem/adjudication', code }],
  });
  return [
    { category: category('submitted'), amount: usd(cents) },
    { category: category('eligible'), amount: usd(Math.round(cents * 0.8)) },
    { category: category('deductible'), amount: usd(Math.round(cents * 0.8) - paid) },
    { category: category('benefit'), amount: usd(paid) },
  ];
}

function usd(cents: number): fhir.Money {
  return { value: cents / 100, currency: 'USD' };
}

const relationships = 'http://terminology.hl7.org/CodeSystem/subscriber-relationship';
const classes = 'http://terminology.hl7.org/CodeSystem/coverage-class';
const copays = 'http://terminology.hl7.org/CodeSystem/coverage-copay-type';
const icd = 'http://hl7.org/fhir/sid/icd-10-cm';
const diagnoses: Coded = [
  { code: 'I10', display: 'Essential (primary) hypertension' },
  { code: 'E11.9', display: 'Type 2 diabetes mellitus without complications' },
  { code: 'J06.9', display: 'Acute upper respiratory infection, unspecified' },
];
const services: Coded = [
  { code: '99213', display: 'Office visit, established patient' },
  { code: '99203', display: 'Office visit, new patient' },
  { code: '85025', display: 'Complete blood count' },
];
