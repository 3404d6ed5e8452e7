import { Type } from 'typebox';
import { days, text } from '../../model/fields.ts';
import { Claim } from '../../model/records/claims.ts';
import { checkRange } from '../../records/checkRange.ts';
import { claimPages } from '../../records/claims.ts';
import { pageEndpoint } from '../listEndpoint.ts';

export default pageEndpoint(claimPages, {
  schema: Claim,
  summary: 'List the claims of the organization, as of its last sync, latest service date first',
  filters: {
    ...days('service date'),
    patient_mrn: Type.Optional(text({ minLength: 1, examples: ['LK100001'] })),
    claim_status: Type.Optional(text({ minLength: 1, description: 'The EMR’s status code, to the letter' })),
  },
  page_size_max: 1000,
  check: checkRange,
});
