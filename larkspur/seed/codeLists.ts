export function codeRows() {
  return lists.flatMap(([list, codes]) =>
    codes.map(([code, name]) => ({ codeId: `${list}-${code}`, list, code, name })),
  );
}

export function visitTypeRows() {
  return visitTypes.map(([code, description, defaultMinutes]) => ({ code, description, defaultMinutes }));
}

export function visitStatusRows() {
  return visitStatuses.map(([code, description]) => ({ code, description }));
}

type Code = [code: string, name: string];

const lists: [list: string, codes: Code[]][] = [
  [
    'language',
    [
      ['ENG', 'English'],
      ['SPA', 'Spanish'],
      ['CHI', 'Chinese'],
      ['RUS', 'Russian'],
      ['FRE', 'French'],
      ['ARA', 'Arabic'],
      ['HAT', 'Haitian Creole'],
      ['DEC', 'Declined to specify'],
    ],
  ],
  [
    'race',
    [
      ['W', 'White'],
      ['B', 'Black or African American'],
      ['A', 'Asian'],
      ['N', 'American Indian or Alaska Native'],
      ['P', 'Native Hawaiian or Other Pacific Islander'],
      ['O', 'Other race'],
      ['D', 'Declined to specify'],
    ],
  ],
  [
    'ethnicity',
    [
      ['N', 'Not Hispanic or Latino'],
      ['H', 'Hispanic or Latino'],
      ['D', 'Declined to specify'],
    ],
  ],
  [
    'payment_method',
    [
      ['CASH', 'Cash'],
      ['CHK', 'Check'],
      ['CC', 'Credit card'],
      ['DC', 'Debit card'],
      ['ACH', 'Bank transfer'],
    ],
  ],
  [
    'phone_call_type',
    [
      ['1', 'Appointment request'],
      ['2', 'Billing question'],
      ['3', 'Clinical question'],
      ['4', 'Medication refill'],
      ['5', 'Test results'],
    ],
  ],
];

const visitTypes: [code: string, description: string, defaultMinutes: number][] = [
  ['NP', 'New patient', 30],
  ['FU', 'Follow-up', 20],
  ['OV', 'Office visit', 20],
  ['PE', 'Annual physical', 40],
  ['TH', 'Telehealth visit', 20],
  ['NV', 'Nurse visit', 15],
  ['PRO', 'Procedure', 45],
  ['TEL', 'Telephone encounter', 10],
];

const visitStatuses: Code[] = [
  ['PEN', 'Pending'],
  ['CON', 'Confirmed'],
  ['ARR', 'Arrived'],
  ['CHK', 'Checked out'],
  ['CAN', 'Cancelled'],
  ['NOS', 'No show'],
  ['RSC', 'Rescheduled'],
];
