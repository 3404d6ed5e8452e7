import type { Logger } from 'pino';
import type { Config } from '../../catalog/settings/config.ts';
import { type Telemetry, telemetry_off } from './telemetry.ts';

/** The packages of OpenTelemetry are loaded only if a collector is configured. */
export async function openTelemetry(config: Config, log: () => Logger): Promise<Telemetry> {
  if (config.otel_exporter_otlp_endpoint === undefined) return telemetry_off;
  const { openExport } = await import('./openExport.ts');
  return openExport({ ...config, endpoint: config.otel_exporter_otlp_endpoint }, log);
}
