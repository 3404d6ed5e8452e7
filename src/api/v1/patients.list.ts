import { Type } from 'typebox';
import { text } from '../../model/fields.ts';
import { Patient } from '../../model/patient.ts';
import { patientPages } from '../../records/patients.ts';
import { pageEndpoint } from '../listEndpoint.ts';

export default pageEndpoint(patientPages, {
  schema: Patient,
  group: 'Patients',
  summary: 'List patients',
  filters: {
    dob: Type.Optional(Type.String({ format: 'date', description: 'YYYY-MM-DD' })),
    first_name: Type.Optional(text({ minLength: 1, description: 'Part of the name, case-insensitive' })),
    last_name: Type.Optional(
      text({ minLength: 1, description: 'Part of the name, case-insensitive', examples: ['Testpatient'] }),
    ),
    mrn: Type.Optional(text({ minLength: 1 })),
    ehr_id: Type.Optional(text({ minLength: 1 })),
    phone: Type.Optional(text({ minLength: 1, description: 'Home or cell phone, NNN-NNN-NNNN' })),
  },
  page_size_max: 1000,
});
