import { type Static, Type } from 'typebox';
import { choices, email, refersTo, text, us_phone, us_state, us_zip } from '../fields.ts';
import { document_bytes_max } from './documents.ts';
import { icd_10_code } from './notes.ts';

/** The check digit of the NPI is verified by the write (`hasNpiCheckDigit`). */
export const ReferringProviderRequest = Type.Object(
  {
    first_name: text({ maxLength: 100, examples: ['Umber'] }),
    last_name: text({ maxLength: 100, examples: ['Consultson'] }),
    npi: text({
      pattern: '^[0-9]{10}$',
      messages: { pattern: 'npi must be 10 digits' },
      notation: '10 digits',
      description: 'National Provider Identifier: 10 digits, the last of which is a check digit',
      examples: ['1234567893'],
    }),
    phone: Type.Optional(us_phone),
    fax: Type.Optional(us_phone),
    email: Type.Optional(email),
    address: Type.Optional(text({ maxLength: 200, description: 'Street and number', examples: ['100 Main Street'] })),
    city: Type.Optional(text({ maxLength: 100, examples: ['Exampleton'] })),
    state: Type.Optional(us_state),
    zip_code: Type.Optional(us_zip),
  },
  { schema_name: 'ReferringProviderCreate', description: 'A provider outside of the practice' },
);
export type ReferringProviderRequest = Static<typeof ReferringProviderRequest>;

/** Whether the last digit is the check digit by the Luhn formula, with the prefix 80840 that NPIs have on cards. */
export function hasNpiCheckDigit(npi: string): boolean {
  const digits = [...`80840${npi}`].reverse().map(Number);
  const sum = digits.reduce((total, digit, n) => {
    const value = n % 2 === 0 ? digit : digit * 2;
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

export const referral_priorities = {
  routine: 'In the usual order',
  urgent: 'Before routine referrals',
  stat: 'At once',
} as const;

export const referral_directions = {
  incoming: 'To a provider of the practice',
  outgoing: 'From a provider of the practice',
} as const;

/** The ID that stands for nobody on one side of a referral. */
export const nobody = '0';

const codes_max = 50;
const documents_max = 20;

/** `content_base64` is read while the body arrives; the parsed body only contains a placeholder for the file. */
export const ReferralRequest = Type.Object(
  {
    patient_mrn: text({ description: 'Medical Record Number of the patient' }),
    referring_from_provider_ehr_id: text({
      ...refersTo('referring_providers.ehr_id', 'providers.ehr_id'),
      description:
        'EMR ID of who refers the patient: incoming, from GET /v1/referring-providers; outgoing, from GET /v1/providers; `"0"`: nobody',
      examples: ['8003'],
    }),
    referring_to_provider_ehr_id: text({
      ...refersTo('providers.ehr_id', 'referring_providers.ehr_id'),
      description:
        'EMR ID of whom the patient is referred to: incoming, from GET /v1/providers; outgoing, from GET /v1/referring-providers; `"0"`: nobody',
      examples: ['501'],
    }),
    direction: choices(referral_directions, { description: 'Whether the patient comes to the practice or leaves it' }),
    priority: choices(referral_priorities, { description: 'Priority of the referral' }),
    reason: text({ description: 'Reason for the referral', examples: ['Cardiology consultation'] }),
    diagnosis_codes: Type.Optional(Type.Array(icd_10_code, { maxItems: codes_max, description: 'ICD-10 codes' })),
    documents: Type.Optional(
      Type.Array(
        Type.Object(
          {
            filename: text({ maxLength: 200, description: 'Name of the file', examples: ['referral-letter.pdf'] }),
            content_base64: text({
              maxLength: Math.ceil(document_bytes_max / 3) * 4,
              contentEncoding: 'base64',
              description: 'The file in base64: PDF, JPEG or PNG (detected by content), at most 5 MB',
              examples: ['JVBERi0xLjQK…'],
            }),
          },
          {
            schema_name: 'ReferralDocument',
            description: 'A document of a referral',
            additionalProperties: false,
          },
        ),
        { maxItems: documents_max, description: 'Documents of the referral; the whole body may have 25 MB' },
      ),
    ),
  },
  { schema_name: 'ReferralCreate', description: 'A referral with its documents' },
);
export type ReferralRequest = Static<typeof ReferralRequest>;
