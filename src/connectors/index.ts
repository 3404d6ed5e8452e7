import type { Connector } from './connector.ts';
import { fhir } from './fhir/fhir.ts';
import { larkspur } from './larkspur/larkspur.ts';

/** Every EMR that can be linked. A new one is a folder beside this file and a name in this list. */
const list: readonly Connector[] = [larkspur, fhir];

export const connectors: ReadonlyMap<string, Connector> = new Map(list.map((connector) => [connector.name, connector]));
