import { installation_folder } from '../../catalog/installation.ts';
import type { Config } from '../../catalog/settings/config.ts';
import type { Connector } from '../connector.ts';
import { connectors as built_in } from '../index.ts';
import { findFault } from './faults.ts';
import { failure, type LoadedModule, loadModule } from './modules.ts';

/** A connector that is not part of this repository, and where it came from. */
export type ConnectorOrigin = Pick<LoadedModule, 'module' | 'version' | 'entry' | 'sha256'> & { name: string };

export type LoadedConnectors = {
  /** The built-in ones, then those from outside. */
  connectors: ReadonlyMap<string, Connector>;
  outside: readonly ConnectorOrigin[];
};

/**
 * Loads the connectors of the setting CONNECTORS. Their code runs with all rights of the service. Throws a StartFailure
 * for the first module that is not a connector which this version can use.
 */
export async function loadConnectors(
  { connectors: modules }: Pick<Config, 'connectors'>,
  folders: readonly string[] = [process.cwd(), installation_folder],
): Promise<LoadedConnectors> {
  // A new map for each service: tests start several in one process, and add connectors.
  const connectors = new Map(built_in);
  const outside: ConnectorOrigin[] = [];
  for (const each of modules) {
    const { exported, ...loaded } = await loadModule(each, folders);
    const fault = findFault(exported);
    if (fault !== undefined) throw failure(each, fault);
    // `findFault` has checked what is there; TypeScript checked the rest when the module was compiled.
    const connector = exported as Connector;
    const { name } = connector;
    const other = outside.find((one) => one.name === name);
    const rename = 'Each connector needs a name of its own.';
    if (other) throw failure(each, `is called ${name}, as is the connector of ${other.module}. ${rename}`);
    if (connectors.has(name)) throw failure(each, `is called ${name}, as is a built-in connector. ${rename}`);
    connectors.set(name, connector);
    outside.push({ name, ...loaded });
  }
  return { connectors, outside };
}
