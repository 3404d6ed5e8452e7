import { type Static, Type } from 'typebox';
import { activity, emr_value, id, nullable } from '../fields.ts';
import { fold } from '../fold.ts';
import { byPhone, byStatus, containsName, equals, phoneColumn, recordKind } from './recordKind.ts';

const fields = {
  ehr_id: Type.String({ examples: ['8003'] }),
  name: Type.String({ description: 'Full name', examples: ['Umber A Consultson'] }),
  first_name: Type.String({ examples: ['Umber'] }),
  last_name: Type.String({ examples: ['Consultson'] }),
  middle_initial: nullable(Type.String({ examples: ['A'] })),
  speciality: nullable(Type.String({ examples: ['Neurology'] })),
  phone: emr_value.text,
  fax: emr_value.text,
  email: nullable(Type.String({ examples: ['umber.consultson@example.org'] })),
  npi: emr_value.text,
  address_street: emr_value.text,
  address_city: emr_value.text,
  address_state: emr_value.text,
  address_zip: emr_value.text,
  status: activity,
};

export const ReferringProviderSource = Type.Object(fields);
export type ReferringProviderSource = Static<typeof ReferringProviderSource>;
export const ReferringProvider = Type.Object(
  { id, ...fields },
  { schema_name: 'ReferringProvider', description: 'A provider who refers patients to the practice' },
);
export type ReferringProvider = Static<typeof ReferringProvider>;

export const referringProviders = recordKind({
  name: 'referring_providers',
  operation: 'listReferringProviders',
  consent: 'providers',
  source: ReferringProviderSource,
  wire: ReferringProvider,
  labels: { singular: 'referring provider', plural: 'referring providers' },
  group: 'Practice',
  written_by_us: true,
  row: (source, id) => ({
    doc: { id, ...source },
    first_folded: fold(source.first_name),
    last_folded: fold(source.last_name),
    phone: phoneColumn(source.phone),
    fax: phoneColumn(source.fax),
    npi: source.npi,
    status: source.status,
  }),
  filters: {
    first_name: containsName('first_folded'),
    last_name: containsName('last_folded'),
    phone: byPhone(['phone'], 'Phone number, compared by its digits'),
    fax: byPhone(['fax'], 'Fax number, compared by its digits'),
    npi: equals('npi'),
    status: byStatus,
  },
  order: [{ column: 'last_folded' }, { column: 'first_folded' }],
  counted: true,
  list: {
    returns: 'pages',
    page_size_max: 1000,
    summary: 'List referring providers',
  },
  dashboard_columns: ['name', 'speciality', 'npi', 'phone', 'ehr_id', 'status'],
});
