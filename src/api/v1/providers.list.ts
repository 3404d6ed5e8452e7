import { Provider } from '../../model/provider.ts';
import { listEndpoint } from '../listEndpoint.ts';

export default listEndpoint('providers', Provider, 'List providers');
