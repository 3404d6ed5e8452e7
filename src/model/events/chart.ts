import { Type } from 'typebox';
import { nullable } from '../fields.ts';
import type { EventKinds } from './event.ts';
import { changed_fields, syncData } from './syncData.ts';

const claim = syncData({
  claim_id: Type.String({ description: 'Chartwire’s ID of the claim' }),
  emr_claim_id: Type.String(),
  patient_mrn: nullable(Type.String()),
  claim_status: nullable(Type.String({ description: 'The EMR’s status code' })),
  changed_fields,
});

const order = syncData({
  order_id: Type.String({ description: 'The EMR’s ID of the order' }),
  order_name: Type.String(),
  patient_mrn: Type.String(),
});

/** Events about records that only the practice changes. */
export const chart_events = {
  'claim.updated': {
    summary: 'Staff changed a claim in the EMR.',
    has_job_id: false,
    has_account_reference: true,
    trigger: { request: 'staff_claim_change' },
    data: claim,
    sync_data: claim,
  },
  'order.resulted': {
    summary: 'An order has results, or other results than before.',
    has_job_id: false,
    has_account_reference: true,
    trigger: { request: 'staff_order_result' },
    data: order,
    sync_data: order,
  },
} as const satisfies EventKinds;
