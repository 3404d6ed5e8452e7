import type { FastifyInstance } from 'fastify';
import type { TObject } from 'typebox';
import { Value } from 'typebox/value';
import { alerts } from '../charts/alerts.ts';
import { appointments } from '../charts/appointments.ts';
import { balances } from '../charts/balances.ts';
import { claims } from '../charts/claims.ts';
import { eligibilityChecks } from '../charts/eligibilityChecks.ts';
import { guarantors } from '../charts/guarantors.ts';
import { orders } from '../charts/orders.ts';
import { patientInsurances } from '../charts/patientInsurances.ts';
import { patients } from '../charts/patients.ts';
import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { addHistory, type Change, fieldChanges } from '../machine/history.ts';
import {
  changeRecord,
  createRecord,
  editSchema,
  findRecords,
  getRecord,
  pathOf,
  querySchema,
  type RecordKind,
  removeRecord,
} from '../machine/recordKind.ts';
import { blocks } from '../practice/blocks.ts';
import { codes } from '../practice/codes.ts';
import { facilities } from '../practice/facilities.ts';
import { insuranceCompanies } from '../practice/insuranceCompanies.ts';
import { pharmacies } from '../practice/pharmacies.ts';
import { providers } from '../practice/providers.ts';
import { referringProviders } from '../practice/referringProviders.ts';
import { settings } from '../practice/settings.ts';
import { staff } from '../practice/staff.ts';
import { visitStatuses } from '../practice/visitStatuses.ts';
import { visitTypes } from '../practice/visitTypes.ts';

/** Every kind that a test may look into, add to, change and remove from; docs/larkspur.md lists them. */
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
  patientInsurances,
  guarantors,
  eligibilityChecks,
  balances,
  alerts,
];

/** Lets a test change the practice from outside, in the words of the lists, as if the clinic had done it. */
export function serveRecordEdits(app: FastifyInstance, context: Context): void {
  for (const kind of editableKinds) {
    app.get<{ Querystring: Record<string, unknown> }>(`/control/${pathOf(kind)}`, async ({ query }) => {
      check(querySchema(kind), query);
      return { rows: await findRecords(context.sql, kind, query as Record<string, string>) };
    });
    app.post<{ Body: Record<string, unknown> }>(`/control/${pathOf(kind)}`, async (request, reply) => {
      check(editSchema(kind, 'add'), request.body);
      const added = await edit(context, (sql, at) => createRecord(sql, kind, request.body, at));
      return reply.code(201).send(await getRecord(context.sql, kind, added.record_id));
    });
    app.patch<{ Body: Record<string, unknown>; Params: { id: string } }>(
      `/control/${pathOf(kind)}/:id`,
      async ({ body, params }) => {
        check(editSchema(kind, 'change'), body);
        await edit(context, (sql, at) => changeRecord(sql, kind, params.id, body, at));
        return getRecord(context.sql, kind, params.id);
      },
    );
    app.delete<{ Params: { id: string } }>(`/control/${pathOf(kind)}/:id`, async ({ params }) => {
      await edit(context, (sql) => removeRecord(sql, kind, params.id));
      return { removed: params.id };
    });
  }
}

function edit({ sql, now }: Context, work: (sql: Query, at: Date) => Promise<Change>): Promise<Change> {
  return sql.begin(async (tx) => {
    const at = now();
    const change = await work(tx, at);
    await addHistory(tx, 'Control API', at, fieldChanges([change]));
    return change;
  }) as Promise<Change>;
}

/** Checked as it comes: compiling forty schemas that few runs ever use would slow every start. */
function check(schema: TObject, body: unknown): void {
  const [wrong] = Value.Errors(schema, body);
  if (wrong) throw new EmrError('BAD_REQUEST', `body${wrong.instancePath} ${wrong.message}`);
}
