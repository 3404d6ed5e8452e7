/** How the server exports in bulk. */
export type BulkSwitches = {
  /** The levels that `metadata` declares. */
  levels: readonly ('Patient' | 'Group')[];
  /** The groups that the server lists. Each contains every patient. */
  groups: readonly string[];
  /** The status responses before an export is ready, and their `Retry-After`. */
  polls: number;
  retry_after: string | undefined;
  forbidden: boolean;
  requires_token: boolean;
  /** The origin that the manifest names for the files. */
  files_origin: string | undefined;
  /** The origin that the URLs of files redirect to, and how often. */
  redirects_to: string | undefined;
  redirects: number;
  /** How many downloads end in the middle of a record. */
  truncated: number;
  /** How many downloads find that their URL has expired. The status names another one. */
  expired: number;
  gzip: boolean;
  lines_per_file: number;
  /** The severity and code of what the export could not read. */
  errors: readonly { severity: string; code: string }[];
  /** The manifest names what was deleted since. */
  names_deleted: boolean;
  /** The age of the copy of the records that the export is made from. */
  copy_age_ms: number;
  /** What the manifest has as `transactionTime`, if not the time of the copy. Null: nothing. */
  transaction_time: unknown;
  /** The search parameter by which the practices of this address are told apart, as an extension of their records. */
  practice_param: string | undefined;
};

export const bulk_behavior: Readonly<BulkSwitches> = {
  levels: ['Patient'],
  groups: [],
  polls: 0,
  retry_after: '1',
  forbidden: false,
  requires_token: true,
  files_origin: undefined,
  redirects_to: undefined,
  redirects: 1,
  truncated: 0,
  expired: 0,
  gzip: true,
  lines_per_file: 3,
  errors: [],
  names_deleted: false,
  copy_age_ms: 0,
  transaction_time: undefined,
  practice_param: undefined,
};
