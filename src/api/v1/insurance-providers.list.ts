import { Type } from 'typebox';
import { text } from '../../model/fields.ts';
import { InsuranceProvider } from '../../model/insuranceProvider.ts';
import { insuranceProviderPages } from '../../records/insuranceProviders.ts';
import { pageEndpoint } from '../listEndpoint.ts';

export default pageEndpoint(insuranceProviderPages, {
  schema: InsuranceProvider,
  group: 'Practice',
  summary: 'List insurance providers',
  filters: {
    name: Type.Optional(text({ minLength: 1, description: 'Part of the name, case-insensitive' })),
    active: Type.Optional(Type.Boolean()),
  },
  page_size_max: 100,
});
