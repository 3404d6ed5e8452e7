import { Provider } from '../../model/records/providers.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint('providers', Provider, 'List the providers of the organization, as of its last sync');
