import type { Query } from '../database/open.ts';

/** What the rest of the seed needs to know of the patients who are there. */
export interface SeededPatient {
  patientId: string;
  mrn: string;
  firstName: string;
  lastName: string;
  birthDate: string;
  sexCode: string;
  address: { line1: string; line2: string | null; city: string; state: string; zip: string };
  primaryInsuranceName: string | null;
  primarySubscriberNumber: string | null;
}

export async function readSeededPatients(sql: Query): Promise<SeededPatient[]> {
  return sql<SeededPatient[]>`
    select patient_id, mrn, first_name, last_name, birth_date, sex_code, address, primary_insurance_name,
      primary_subscriber_number
    from patients where birth_date is not null order by length(patient_id), patient_id`;
}
