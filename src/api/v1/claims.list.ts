import { Type } from 'typebox';
import { Claim } from '../../model/claim.ts';
import { days, text } from '../../model/fields.ts';
import { checkRange } from '../../records/checkRange.ts';
import { claimPages } from '../../records/claims.ts';
import { pageEndpoint } from '../listEndpoint.ts';

export default pageEndpoint(claimPages, {
  schema: Claim,
  group: 'Claims and orders',
  summary: 'List claims, latest service date first',
  filters: {
    ...days('service date'),
    patient_mrn: Type.Optional(text({ minLength: 1, examples: ['LK100001'] })),
    claim_status: Type.Optional(text({ minLength: 1, description: 'Status code of the EMR, exact match' })),
  },
  page_size_max: 1000,
  check: checkRange,
});
