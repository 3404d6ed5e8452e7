import { Provider } from '../../model/provider.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint('providers', Provider, 'List the providers of the organisation, as of its last sync');
