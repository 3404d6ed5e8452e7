import { Type } from 'typebox';
import { text } from '../../model/fields.ts';
import { ReferringProvider } from '../../model/referringProvider.ts';
import { referringProviderPages } from '../../records/referringProviders.ts';
import { pageEndpoint } from '../listEndpoint.ts';

export default pageEndpoint(referringProviderPages, {
  schema: ReferringProvider,
  group: 'Practice',
  summary: 'List referring providers',
  filters: {
    first_name: Type.Optional(text({ minLength: 1, description: 'Part of the name, case-insensitive' })),
    last_name: Type.Optional(text({ minLength: 1, description: 'Part of the name, case-insensitive' })),
    phone: Type.Optional(text({ minLength: 1 })),
    fax: Type.Optional(text({ minLength: 1 })),
    npi: Type.Optional(text({ minLength: 1 })),
  },
  page_size_max: 1000,
});
