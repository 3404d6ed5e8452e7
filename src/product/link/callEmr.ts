import { emrEndpoint } from '../accounts/emrEndpoint.ts';
import { ApiError, apiError } from '../../catalog/errors.ts';
import type { ConnectionReport, ReportStep } from '../../emr/connectionReport.ts';
import { type Connector, type EmrEndpoint, EmrFailure } from '../../emr/connector.ts';
import type { Context } from '../context.ts';
import { type ReportedError, saveAccountReport, saveLinkReport } from './connectionReports.ts';
import type { LinkPurpose } from './linkTokens.ts';

/** Servers are probed with a few dozen requests. */
const steps_max = 500;
/** A person waits. */
const sign_in_ms_max = 30_000;

/**
 * Runs one part of a sign-in and returns its result with the connection report. If it fails, the report is stored with
 * the link, and with the account in update mode. Undefined for connectors that do not report.
 */
export async function attemptSignIn<T>(
  ctx: Context,
  { token_hash, purpose }: { token_hash: Buffer; purpose: LinkPurpose },
  run: (endpoint: EmrEndpoint) => Promise<T>,
): Promise<{ result: T; report: ConnectionReport | undefined }> {
  const steps: ReportStep[] = [];
  const record = (step: ReportStep) => void (steps.length < steps_max && steps.push(step));
  const at = new Date().toISOString();
  const report = () => (steps.length > 0 ? { address: purpose.emr_address, at, steps } : undefined);
  try {
    const endpoint = await emrEndpoint(ctx, purpose, AbortSignal.timeout(sign_in_ms_max));
    const result = await run({ ...endpoint, record });
    return { result, report: report() };
  } catch (error) {
    const failed = report();
    if (failed) {
      await saveFailure(ctx, token_hash, purpose, failed, toReported(error)).catch((cause: unknown) =>
        ctx.log.warn({ err: cause }, 'a connection report could not be stored'),
      );
      ctx.notifications.notify('chartwire_live', `accounts ${purpose.client_id}`);
    }
    throw error;
  }
}

function saveFailure(
  ctx: Context,
  token_hash: Buffer,
  { client_id, account_id }: LinkPurpose,
  report: ConnectionReport,
  error: ReportedError,
): Promise<void> {
  return ctx.db.tenant(client_id, async (tx) => {
    await saveLinkReport(tx, token_hash, report, error);
    if (account_id !== null) await saveAccountReport(tx, { client_id, account_id }, report, error);
  });
}

/** What the EMR's failure says is more precise than the error for the caller. */
function toReported(error: unknown): ReportedError {
  if (!(error instanceof ApiError)) return { code: 'internal', message: 'Internal error.' };
  return { code: error.code, message: error.cause instanceof EmrFailure ? error.cause.message : error.message };
}

/** Calls the EMR and maps its failures to API errors. */
export async function callEmr<T>(connector: Connector, ask: () => Promise<T>): Promise<T> {
  const emr = connector.display_name;
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    const { unknown_host: host, message: reason } = error;
    if (host !== undefined) throw apiError('emr_host_not_found', { host }, { cause: error });
    if (error.wrong_address) throw apiError('emr_address_wrong', { reason }, { cause: error });
    if (error.kind === 'refused') throw apiError('emr_sign_in_refused', { emr, reason }, { cause: error });
    throw apiError('emr_unavailable', { emr }, { cause: error, retry_after_s: 5 });
  }
}
