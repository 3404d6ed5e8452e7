/** The operations whose input comes from the fields of a request. */
export type FieldOperation =
  | 'createPatient'
  | 'updatePatient'
  | 'searchPatients'
  | 'createAppointment'
  | 'uploadDocument'
  | 'addPatientInsurance'
  | 'updatePatientInsurance'
  | 'createTelephoneEncounter'
  | 'addTelephoneAction';
/** A field that only some servers of an EMR can store: `uploadDocument.is_high_priority`. */
export type FieldCapability = `${FieldOperation}.${string}`;
