import { type Static, Type } from 'typebox';
import { activity, emr_value, id, nullable } from '../fields.ts';
import { fold } from '../fold.ts';
import { byStatus, containsName, equals, recordKind } from './recordKind.ts';

const fields = {
  ehr_id: Type.String({ examples: ['301'] }),
  name: Type.String({ description: 'Name of the insurance company', examples: ['Examplecare Gold'] }),
  payer_id: emr_value.text,
  active: Type.Boolean({ description: 'Whether status is active' }),
  address: nullable(Type.String({ description: 'Street and number' })),
  city: emr_value.text,
  state: emr_value.text,
  created_at: nullable(Type.String({ format: 'date-time', description: 'When the record was created in the EMR' })),
};

/** `carrier_id` is the EMR's id of the carrier; the API does not return it. */
export const InsuranceProviderSource = Type.Object({ ...fields, carrier_id: emr_value.text });
export type InsuranceProviderSource = Static<typeof InsuranceProviderSource>;
export const InsuranceProvider = Type.Object(
  { id, ...fields, status: activity },
  { schema_name: 'InsuranceProvider', description: 'An insurance company that the practice bills' },
);
export type InsuranceProvider = Static<typeof InsuranceProvider>;

export const insuranceProviders = recordKind({
  name: 'insurance_providers',
  operation: 'listInsuranceProviders',
  consent: null,
  source: InsuranceProviderSource,
  wire: InsuranceProvider,
  labels: { singular: 'insurance provider', plural: 'insurance providers' },
  group: 'Practice',
  row: ({ carrier_id, ...source }, id) => {
    const status = source.active ? 'active' : 'inactive';
    return {
      doc: { id, ...source, status },
      name_folded: fold(source.name),
      active: source.active,
      status,
      payer_id: source.payer_id,
      carrier_id,
    };
  },
  filters: {
    name: containsName('name_folded'),
    active: equals('active', Type.Boolean({ description: 'Whether status is active' })),
    status: byStatus,
  },
  order: [{ column: 'name_folded' }],
  counted: true,
  list: {
    returns: 'pages',
    page_size_max: 100,
    summary: 'List insurance providers',
  },
  dashboard_columns: ['name', 'payer_id', 'city', 'state', 'ehr_id', 'status'],
});
