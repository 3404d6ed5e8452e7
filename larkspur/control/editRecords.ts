import type { FastifyInstance } from 'fastify';
import type { TObject } from 'typebox';
import { Value } from 'typebox/value';
import { alerts, balances } from '../charts/alertsAndBalances.ts';
import { appointments } from '../charts/appointments.ts';
import { claims } from '../charts/claims.ts';
import { eligibilityChecks } from '../charts/eligibility.ts';
import { guarantors } from '../charts/guarantors.ts';
import { medications } from '../charts/medications.ts';
import { orders } from '../charts/orders.ts';
import { patientInsurances } from '../charts/patientInsurances.ts';
import { patients } from '../charts/patients.ts';
import { payments } from '../charts/payments.ts';
import { referrals } from '../charts/referrals.ts';
import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { facilities, insuranceCompanies, pharmacies } from '../practice/organizations.ts';
import { codes, settings } from '../practice/practice.ts';
import { providers, referringProviders } from '../practice/providers.ts';
import { blocks, visitStatuses, visitTypes } from '../practice/scheduling.ts';
import { staff } from '../practice/staff.ts';
import { addHistory, fieldChanges, type RecordChange } from '../records/history.ts';
import {
  createRecord,
  deleteRecord,
  editSchema,
  findRecords,
  getRecord,
  pathSegment,
  querySchema,
  type RecordKind,
  updateRecord,
} from '../records/recordKind.ts';

/** The kinds that the control API can read, create, update and delete. docs/larkspur.md lists them. */
export const editableKinds: RecordKind[] = [
  providers,
  staff,
  facilities,
  pharmacies,
  patients,
  insuranceCompanies,
  referringProviders,
  visitTypes,
  visitStatuses,
  codes,
  settings,
  blocks,
  appointments,
  claims,
  orders,
  referrals,
  patientInsurances,
  guarantors,
  eligibilityChecks,
  balances,
  payments,
  alerts,
  medications,
];

/** Lets tests change records as if the practice had done it, with the same fields as the API's lists. */
export function serveRecordEdits(app: FastifyInstance, context: Context): void {
  for (const kind of editableKinds) {
    app.get<{ Querystring: Record<string, unknown> }>(`/control/${pathSegment(kind)}`, async ({ query }) => {
      validate(querySchema(kind), query);
      return { rows: await findRecords(context.sql, kind, query as Record<string, string>) };
    });
    app.post<{ Body: Record<string, unknown> }>(`/control/${pathSegment(kind)}`, async (request, reply) => {
      validate(editSchema(kind, 'create'), request.body);
      const created = await edit(context, (sql, at) => createRecord(sql, kind, request.body, at));
      return reply.code(201).send(await getRecord(context.sql, kind, created.record_id));
    });
    app.patch<{ Body: Record<string, unknown>; Params: { id: string } }>(
      `/control/${pathSegment(kind)}/:id`,
      async ({ body, params }) => {
        validate(editSchema(kind, 'update'), body);
        await edit(context, (sql, at) => updateRecord(sql, kind, params.id, { values: body, at }));
        return getRecord(context.sql, kind, params.id);
      },
    );
    app.delete<{ Params: { id: string } }>(`/control/${pathSegment(kind)}/:id`, async ({ params }) => {
      await edit(context, (sql) => deleteRecord(sql, kind, params.id));
      return { removed: params.id };
    });
  }
}

function edit({ sql, now }: Context, work: (sql: Query, at: Date) => Promise<RecordChange>): Promise<RecordChange> {
  return sql.begin(async (tx) => {
    const at = now();
    const change = await work(tx, at);
    await addHistory(tx, 'Control API', at, fieldChanges([change]));
    return change;
  }) as Promise<RecordChange>;
}

/** Validates without compiling: compiling forty schemas that are rarely used would slow down every start. */
function validate(schema: TObject, body: unknown): void {
  const [error] = Value.Errors(schema, body);
  if (error) throw new EmrError('BAD_REQUEST', `body${error.instancePath} ${error.message}`);
}
