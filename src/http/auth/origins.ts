import type { FastifyInstance, FastifyRequest } from 'fastify';
import { apiError } from '../../catalog/errors.ts';
import { formatAddress, isInNetworks } from '../../catalog/networks.ts';
import { readForwarded, toFingerprint, validFrom, validTo } from '../../platform/security/certificates.ts';
import type { PresentedCertificate, RequestOrigin } from '../../product/clients/requestOrigins.ts';
import type { Context } from '../../product/context.ts';

/** Where a request came from: its address is the one that a trusted proxy reports. */
export function readOrigin({ config }: Pick<Context, 'config'>, request: FastifyRequest): RequestOrigin {
  return { address: request.ip, readCertificate: () => readCertificate(config, request) };
}

type ProxySettings = Pick<Context['config'], 'client_certificate_header' | 'trusted_proxies'>;

/** The certificate that the proxy saw in its TLS handshake. From any other sender, the header proves nothing. */
function readCertificate(
  { client_certificate_header: name, trusted_proxies }: ProxySettings,
  { headers, socket }: FastifyRequest,
): PresentedCertificate {
  if (name === undefined || !isInNetworks(socket.remoteAddress ?? '', trusted_proxies)) return 'missing';
  const sent = headers[name];
  if (sent === undefined || sent === '') return 'missing';
  const certificate = typeof sent === 'string' ? readForwarded(sent) : undefined;
  if (!certificate) return 'unreadable';
  return {
    fingerprint: toFingerprint(certificate),
    valid_from: validFrom(certificate),
    valid_to: validTo(certificate),
  };
}

/** Refuses the pages and the API of the dashboard outside of DASHBOARD_NETWORKS, before anything else is done. */
export function limitDashboard(
  { config, metrics }: Pick<Context, 'config' | 'metrics'>,
  server: FastifyInstance,
): void {
  const { dashboard_networks: networks } = config;
  if (networks.length === 0) return;
  server.addHook('onRequest', (request, _reply, done) => {
    if (!isDashboard(request) || isInNetworks(request.ip, networks)) return done();
    metrics.refused_origins.inc({ code: 'dashboard_network_refused' });
    done(apiError('dashboard_network_refused', { address: formatAddress(request.ip) }));
  });
}

/** By the route, which no spelling of the path can change. Its files and pages are not declared endpoints. */
function isDashboard({ routeOptions: { config, url = '' } }: FastifyRequest): boolean {
  if (config.endpoint?.from_anywhere) return false;
  return config.endpoint?.surface === 'dashboard' || /^\/dashboard(\/|$)/.test(url);
}
