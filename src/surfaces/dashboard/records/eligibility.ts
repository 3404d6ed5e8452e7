import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { EligibilityBenefit } from '../../../model/records/eligibilityChecks.ts';
import { readBenefits } from '../../../product/records/eligibilityBenefits.ts';
import { organization_path, record_params, requireOrganization } from '../organization.ts';

/** Insurers answer with up to a few hundred lines. */
const benefits_max = 1000;

type BenefitsJson = { benefits: EligibilityBenefit[]; pagination: { total_records: number } };

export const eligibilityBenefits = endpoint({
  id: 'dashboard.eligibility-checks.benefits',
  surface: 'dashboard',
  method: 'GET',
  path: `${organization_path}/eligibility-checks/{id}/benefits`,
  auth: 'operator_in_client',
  role: 'read_only',
  summary: `List the benefits of an eligibility check, up to ${benefits_max}`,
  params: record_params,
  response: Type.Object({ success, benefits: Type.Array(EligibilityBenefit), total: Type.Integer() }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, auditPatients }) => {
    const scope = await requireOrganization(ctx, client, params);
    const id = parseId(params.id);
    const read = id && (await readBenefits(ctx.db, scope, { id, page: 1, page_size: benefits_max }));
    if (!read) throw apiError('record_not_found', { noun: 'Eligibility check', id: params.id });
    auditPatients(read.mrns);
    const { benefits, pagination }: BenefitsJson = JSON.parse(read.body);
    return { success: true, benefits, total: pagination.total_records };
  },
});
