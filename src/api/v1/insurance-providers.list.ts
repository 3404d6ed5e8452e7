import { Type } from 'typebox';
import { text } from '../../model/fields.ts';
import { InsuranceProvider } from '../../model/insuranceProvider.ts';
import { insuranceProviderPages } from '../../records/insuranceProviders.ts';
import { pageEndpoint } from '../listEndpoint.ts';

export default pageEndpoint(insuranceProviderPages, {
  schema: InsuranceProvider,
  group: 'Practice',
  summary: 'List the insurance companies of the EMR instance, as of its last sync',
  filters: {
    name: Type.Optional(text({ minLength: 1, description: 'Any part of the name, in any case' })),
    active: Type.Optional(Type.Boolean()),
  },
  page_size_max: 100,
});
