import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint, JsonText } from '../../../http/endpoint.ts';
import { pagination, paging, success, text } from '../../../model/fields.ts';
import { EligibilityBenefit, eligibilityChecks } from '../../../model/records/eligibilityChecks.ts';
import { toListPath } from '../../../model/records/recordKind.ts';
import { readBenefits } from '../../../product/records/eligibilityBenefits.ts';
import { for_reads } from '../limitedSecrets.ts';

const { page, page_size } = paging(100, 500);

export const eligibilityBenefitsList = endpoint({
  id: 'eligibility-checks.benefits.list',
  surface: 'api',
  group: eligibilityChecks.group,
  method: 'GET',
  path: `${toListPath(eligibilityChecks)}/{id}/benefits`,
  auth: 'account',
  limited_secrets: for_reads,
  needs: { operation: eligibilityChecks.operation, label: eligibilityChecks.labels.plural },
  summary: 'List the benefits of an eligibility check',
  description: 'Returns the lines of the insurer’s answer in their order.',
  agent_tool: true,
  params: Type.Object({ id: Type.String({ description: 'The check’s `id` from GET /v1/eligibility-checks' }) }),
  query: Type.Object({
    benefit_type: Type.Optional(
      text({
        minLength: 1,
        description: 'Kind of benefit, as in `benefit_type`, ignoring case',
        examples: ['Deductible'],
      }),
    ),
    page,
    page_size,
  }),
  response: Type.Object({
    success,
    benefits: Type.Array(EligibilityBenefit, { description: 'The benefits' }),
    pagination: Type.Object(
      {
        ...pagination.properties,
        total_records: Type.Integer({ description: 'Same as total_count' }),
      },
      { schema_name: 'BenefitPagination', description: 'Which page this is, and how many there are' },
    ),
  }),
  errors: ['record_not_found'],
  found_in: { id: 'GET /v1/eligibility-checks?patient_mrn=LK100001#/eligibility_checks/0/id' },
  handle: async ({ ctx, account, params, query, auditPatients }) => {
    const id = parseId(params.id);
    const { benefit_type, page = 1, page_size = 100 } = query;
    const benefits = id && (await readBenefits(ctx.db, account, { id, benefit_type, page, page_size }));
    if (!benefits) throw apiError('record_not_found', { noun: 'Eligibility check', id: params.id }, { field: 'id' });
    auditPatients(benefits.mrns);
    return new JsonText(benefits.body);
  },
});
