import type { Endpoint } from '../../http/endpoint.ts';
import { endpoints as api_endpoints } from '../api/endpoints.ts';
import { link_endpoints } from '../linkpage/endpoints.ts';
import { access_endpoints } from './access/endpoints.ts';
import { accounts_endpoints } from './accounts/endpoints.ts';
import { appEndpoints } from './app/endpoints.ts';
import type { Live } from './app/live.ts';
import { approvalsEndpoints } from './approvals/endpoints.ts';
import { auditEndpoints } from './audit/endpoints.ts';
import { clients_endpoints } from './clients/endpoints.ts';
import { disclosures_endpoints } from './disclosures/endpoints.ts';
import { emr_apps_endpoints } from './emr-apps/endpoints.ts';
import { events_endpoints } from './events/endpoints.ts';
import { installation_endpoints } from './installation/endpoints.ts';
import { jobs_endpoints } from './jobs/endpoints.ts';
import { me_endpoints } from './me/endpoints.ts';
import { operators_endpoints } from './operators/endpoints.ts';
import { overview_endpoints } from './overview/endpoints.ts';
import { records_endpoints } from './records/endpoints.ts';
import { requests_endpoints } from './requests/endpoints.ts';
import { retention_endpoints } from './retention/endpoints.ts';
import { type FindSandboxEmr, sandboxEndpoints } from './sandbox/endpoints.ts';
import { sign_in_endpoints } from './sign-in/endpoints.ts';
import { providerLogout } from './sign-in/logout.ts';
import { webhooks_endpoints } from './webhooks/endpoints.ts';

/** The dashboard's own API, by page. It is not part of the public API. */
export function dashboardEndpoints({
  live,
  findSandboxEmr,
}: {
  live: Live;
  findSandboxEmr: FindSandboxEmr;
}): readonly Endpoint[] {
  const all = (): readonly Endpoint[] => [...pages, ...approvals];
  const pages: readonly Endpoint[] = [
    ...sign_in_endpoints,
    providerLogout,
    ...appEndpoints(live),
    ...overview_endpoints,
    ...accounts_endpoints,
    ...jobs_endpoints,
    ...events_endpoints,
    ...webhooks_endpoints,
    ...records_endpoints,
    ...requests_endpoints,
    ...sandboxEndpoints(findSandboxEmr),
    ...auditEndpoints(() => [...api_endpoints, ...link_endpoints, ...all()]),
    ...disclosures_endpoints,
    // Settings
    ...clients_endpoints,
    ...emr_apps_endpoints,
    ...operators_endpoints,
    ...access_endpoints,
    ...installation_endpoints,
    ...retention_endpoints,
    ...me_endpoints,
  ];
  const approvals = approvalsEndpoints(pages);
  return all();
}
