import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { LiveGuarantor } from '../../model/liveChart.ts';
import type { ResponsibleParty } from '../../model/requests/patients.ts';
import type { Payer } from '../operations/guarantors.ts';
import { collect } from '../operations/operation.ts';
import type { Operations } from '../operations/operations.ts';
import { path } from './call.ts';
import { defineList, readPages } from './lists.ts';
import { defineWrite, type LarkspurOperation, reading, toWritten } from './operation.ts';
import type { SendRequest } from './session.ts';
import { flag, id, isoDate, sexCode, text, textOrNull, usDate } from './values.ts';

async function listGuarantors(request: SendRequest, patient_ehr_id: string): Promise<LiveGuarantor[]> {
  const rows = await collect(
    readPages(request, { ...guarantors, path: path`/api/patients/${patient_ehr_id}/guarantors` }),
  );
  return rows.map(({ ehr_id: id, ...fields }) => ({ id, ...fields }));
}

const guarantors = defineList({
  path: '',
  row: Compile(
    Type.Object({
      guarantorId: id,
      firstName: text,
      lastName: text,
      birthDate: textOrNull,
      relationshipCode: textOrNull,
      guarantorIsPatient: flag,
    }),
  ),
  toSource: (row): Omit<LiveGuarantor, 'id'> & { ehr_id: string } => ({
    ehr_id: row.guarantorId,
    name: `${row.firstName} ${row.lastName}`.trim(),
    dob: isoDate(row.birthDate),
    relationship: toRelationship(row.relationshipCode),
    is_guarantor_patient: row.guarantorIsPatient === 'Y',
  }),
});

/** Maps Larkspur's guarantor codes to the four relationships of the interface. */
export function toRelationship(code: string | null): LiveGuarantor['relationship'] {
  if (code === '1') return 'self';
  if (code === '2' || code === '53') return 'spouse';
  return ['3', '4', '5', '6', '7', '13', '17'].includes(code ?? '') ? 'child' : 'other';
}

const addGuarantor = defineWrite<Operations['addGuarantor']>(
  'add_guarantor',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/guarantors`,
    body: { ...toPerson(input), relationshipCode: party_codes[input.relationship] },
  }),
  toWritten,
);

const setResponsibleParty = defineWrite<Operations['setResponsibleParty']>(
  'set_responsible_party',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/responsible-party`,
    body: { responsiblePartyCode: party_codes[input.relationship], guarantorId: input.guarantor_ehr_id },
  }),
  toWritten,
);

/** Larkspur's codes for responsible parties. */
export const party_codes: Record<ResponsibleParty, string> = {
  self: '1',
  spouse: '2',
  child: '3',
  adopted_child: '4',
  step_child: '5',
  foster_child: '6',
  ward_of_court: '7',
  employee: '8',
  unknown: '9',
  handicapped_dependent: '10',
  organ_donor: '11',
  cadaver_donor: '12',
  grandchild: '13',
  niece_nephew: '14',
  injured_plaintiff: '15',
  sponsored_dependent: '16',
  minor_dependent: '17',
  parent: '18',
  grandparent: '19',
  life_partner: '53',
  other: '99',
};

export function toPerson({ first_name, last_name, sex, dob, phone }: Omit<Payer, 'relationship'>) {
  return {
    firstName: first_name,
    lastName: last_name,
    sexCode: sex && sexCode(sex),
    birthDate: dob && usDate(dob),
    phone,
  };
}

export const guarantor_operations: readonly LarkspurOperation[] = [
  { operation: 'listGuarantors', open: reading(listGuarantors) },
  { operation: 'addGuarantor', open: addGuarantor },
  { operation: 'setResponsibleParty', open: setResponsibleParty },
];
