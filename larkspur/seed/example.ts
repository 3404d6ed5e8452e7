/** A patient with active medications, and records that go together, for the first request anybody sends. */
export const example = {
  patient_mrn: 'LK100001',
  provider_id: '501',
  location_id: '11',
  assigned_to_id: '703',
  pharmacy_ehr_id: '9002',
};
