import type { Connector } from './connector.ts';
import { fhir } from './fhir/fhir.ts';
import { larkspur } from './larkspur/larkspur.ts';
import { openemr } from './openemr/openemr.ts';

/** Every EMR that can be linked. To add one, create a folder next to this file and add its connector here. */
const list: readonly Connector[] = [larkspur, fhir, openemr];

export const connectors: ReadonlyMap<string, Connector> = new Map(list.map((connector) => [connector.name, connector]));
