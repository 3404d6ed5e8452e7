import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import type { OperatorRole } from '../service/types.ts';

export type PageEntry = {
  /** Below `/dashboard`, or below `/dashboard/clients/<client>` for a client's pages. */
  path: string;
  label: string;
  per_client?: true;
  sandbox?: true;
  role?: OperatorRole;
  component: LazyExoticComponent<ComponentType>;
};

const overview = lazy(() => import('../pages/overview/Overview.tsx'));
const accounts = lazy(() => import('../pages/accounts/Accounts.tsx'));
const jobs = lazy(() => import('../pages/jobs/Jobs.tsx'));
const events = lazy(() => import('../pages/events/Events.tsx'));
const records = lazy(() => import('../pages/records/Records.tsx'));
const requests = lazy(() => import('../pages/requests/Requests.tsx'));
const sandbox = lazy(() => import('../pages/sandbox/Sandbox.tsx'));
const audit = lazy(() => import('../pages/audit/Audit.tsx'));
const settings = lazy(() => import('../pages/settings/Settings.tsx'));

/** All pages in the order of the menu. */
export const pages: readonly PageEntry[] = [
  { path: '/overview', label: 'Overview', per_client: true, component: overview },
  { path: '/accounts', label: 'Accounts', per_client: true, component: accounts },
  { path: '/jobs', label: 'Jobs', per_client: true, component: jobs },
  { path: '/events', label: 'Events & webhooks', per_client: true, component: events },
  { path: '/records', label: 'Records', per_client: true, component: records },
  { path: '/requests', label: 'Requests', component: requests },
  { path: '/sandbox', label: 'Sandbox', sandbox: true, component: sandbox },
  { path: '/audit', label: 'Audit log', component: audit },
  { path: '/settings', label: 'Settings', component: settings },
];
