import { StartFailure } from '../../catalog/errors.ts';
import { parseId } from '../../catalog/ids.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { readAccessReport, toCsv } from '../../product/operators/accessReport.ts';
import { findReview, listReviews, type Review, type ReviewRow } from '../../product/operators/accessReviews.ts';
import { resetOperator } from '../../product/operators/localAccounts.ts';
import { enableOperator, findOperator } from '../../product/operators/operators.ts';
import { command_line, withAudit, withoutSecondPerson } from './audit.ts';
import { type JsonOption, printJson, printProgress, printResult, printTable } from './output.ts';
import { formatTime, zoneName } from './terminal.ts';

type ReviewValues = JsonOption & { id?: string; list?: boolean; csv?: boolean };

/** Prints who has access, or what an access review has decided. Reviews are attested in the dashboard, by an owner. */
export async function reviewOperatorsCommand(config: Config, values: ReviewValues): Promise<void> {
  if (values.json && values.csv) throw new StartFailure('Use either --json or --csv.');
  if (values.list && (values.csv || values.id !== undefined)) {
    throw new StartFailure('--list lists all reviews, as a table or with --json.');
  }
  await withAudit(config, async (db, audit) => {
    const id = values.id === undefined ? undefined : (parseId(values.id) ?? '');
    const detail = { ...(values.list ? { list: true } : {}), ...(id ? { review: id } : {}) };
    await audit.record({ client_id: null, ...command_line, action: 'operator.review', outcome: 'shown', detail });
    if (values.list) return printReviews(await listReviews({ db }), values);
    if (id === undefined) return printReport({ rows: await readAccessReport({ db }) }, values);
    const review = id && (await findReview({ db }, id));
    if (!review) throw new StartFailure('--id must be the ID of a review. See: chartwire operators review --list');
    if (!review.intact) printProgress('The review was changed in the database: it no longer has its hash.');
    printReport(review, values);
    if (!review.intact) process.exitCode = 1;
  });
}

function printReviews(reviews: readonly ReviewRow[], { json }: JsonOption): void {
  if (json) {
    printJson({ reviews });
    return;
  }
  printTable(
    ['id', `started (${zoneName()})`, 'started by', 'attested', 'attested by', 'hash'],
    reviews.map(({ id, started_at, started_by, attested_at, attested_by, hash }) => [
      ...[id, formatTime(started_at), started_by],
      ...[formatTime(attested_at), attested_by ?? '–', hash ?? '–'],
    ]),
  );
}

function printReport(report: Pick<Review, 'rows'> & Partial<Review>, { json, csv }: ReviewValues): void {
  const { rows, decisions } = report;
  if (json || csv) {
    if (json) printJson(report);
    else process.stdout.write(toCsv(rows, decisions ?? {}));
    return;
  }
  printTable(
    [
      'kind',
      'account',
      'label',
      'status',
      'rights',
      'sign-in',
      'second factor',
      'by',
      `since (${zoneName()})`,
      'last used',
      'decision',
    ],
    rows.map((row) => [
      ...[row.kind, row.account, row.label ?? '–', row.status, row.rights.join('; ') || '–'],
      ...[row.sign_in.join('; ') || '–', row.second_factor.join('; ') || '–', row.created_by ?? '–'],
      ...[formatTime(row.created_at), formatTime(row.last_used_at), decisions?.[row.id] ?? '–'],
    ]),
  );
}

/** Enables a disabled operator, for example if the only owner who could do it is disabled too. */
export async function enableOperatorCommand(
  config: Config,
  email: string | undefined,
  output: JsonOption = {},
): Promise<void> {
  if (!email)
    throw new StartFailure('An email address is required: chartwire operators enable --email owner@example.org');
  await withAudit(config, (db, audit) =>
    db.system.begin(async (tx) => {
      const subject = await enableOperator(tx, email);
      if (!subject) throw new StartFailure(`There is no disabled operator with the email address '${email}'.`);
      const entry = { client_id: null, ...command_line, action: 'operator.enable', outcome: 'enabled' } as const;
      await audit.recordInTransaction(tx, { ...entry, subject, detail: withoutSecondPerson(config, 'owners') });
    }),
  );
  printResult(output, { email, enabled: true }, `${email} can sign in again.\n`);
}

/** Resets an operator's password when no other owner can do it in the dashboard. */
export async function resetOperatorCommand(
  config: Config,
  email: string | undefined,
  output: JsonOption = {},
): Promise<void> {
  if (!email)
    throw new StartFailure('An email address is required: chartwire operators reset --email owner@example.org');
  const { password, for_an_hour } = await withAudit(config, async (db, audit) => {
    const operator = await findOperator(db.system, email.toLowerCase());
    const entry = { client_id: null, ...command_line, action: 'operator.reset', outcome: 'reset' } as const;
    const detail = withoutSecondPerson(config, 'owners');
    const reset =
      operator &&
      !operator.inactive &&
      (await resetOperator(
        { db, audit },
        operator.id,
        (tx, subject) => audit.recordInTransaction(tx, { ...entry, subject, detail }),
        {
          despite_single_sign_on: true,
        },
      ));
    if (!reset)
      throw new StartFailure(
        `There is no active operator with the email address '${email}'. To enable a disabled one: chartwire operators enable`,
      );
    // Ends the operator's live streams in running processes.
    await db.system`SELECT pg_notify('chartwire_operators', ${operator.id})`;
    return { password: reset, for_an_hour: config.oidc_only || operator.single_sign_on };
  });
  const advice = for_an_hour
    ? 'Sign in to the dashboard within one hour; later, only single sign-on is accepted.'
    : 'Sign in to the dashboard within 72 hours and change it.';
  printResult(output, { email, password }, `password ${password}\n\nThe password is not shown again. ${advice}\n`);
}
