import type { Config } from '../../catalog/settings/config.ts';
import { loadConnectors } from '../../emr/outside/outsideConnectors.ts';
import { type JsonOption, printJson, printTable } from './output.ts';

/** Lists the connectors that the service would load, and checks those from outside. */
export async function listConnectorsCommand(config: Config, { json }: JsonOption): Promise<void> {
  const { connectors, outside } = await loadConnectors(config);
  const listed = [...connectors.values()].map(({ name, display_name }) => {
    const {
      module = null,
      version = null,
      entry = null,
      sha256 = null,
    } = outside.find((one) => one.name === name) ?? {};
    return { name, display_name, module, version, entry, sha256 };
  });
  if (json) return printJson({ connectors: listed });
  const rows = listed.map(({ name, display_name, module, version, entry }) => [
    ...[name, display_name, module ?? 'built in', version ?? '', entry ?? ''],
  ]);
  printTable(['name', 'emr', 'module', 'version', 'file'], rows);
}
