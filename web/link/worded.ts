import type { TextName } from './texts.ts';

/** What a person reads for an error that a sign-in can end with. */
export const worded: Record<string, TextName> = {
  emr_credentials_wrong: 'emr_credentials_wrong',
  emr_code_wrong: 'emr_code_wrong',
  emr_locked: 'emr_locked',
  emr_access_refused: 'emr_access_refused',
  emr_page_required: 'popup_closed',
  emr_page_declined: 'emr_page_declined',
  page_sign_in_unknown: 'page_lost',
  emr_unavailable: 'emr_unavailable',
  emr_sign_in_refused: 'emr_sign_in_refused',
  emr_name_mismatch: 'emr_mismatch',
  emr_domain_mismatch: 'emr_mismatch',
  missing_field: 'missing_field',
  rate_limited: 'rate_limited',
  offline: 'offline',
};
