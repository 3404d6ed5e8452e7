import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import type { IconName } from '../parts/Icon.tsx';
import type { OperatorRole } from '../service/types.ts';

export type PageEntry = {
  /** Below `/dashboard`, or below `/dashboard/clients/<client>` for a client's pages. */
  path: string;
  label: string;
  icon: IconName;
  per_client?: true;
  sandbox?: true;
  /** Only if some actions need a second person. */
  four_eyes?: true;
  /** In the selected client, for a client's pages; else in all clients, or with `of_any_client` in at least one. */
  role?: OperatorRole;
  of_any_client?: true;
  /** Listed only for this role in the client. Others open a part of the page from elsewhere. */
  listed_for?: OperatorRole;
  /** Only with this permission, in addition to the role. */
  permission?: 'may_see_disclosures';
  component: LazyExoticComponent<ComponentType>;
};

const overview = lazy(() => import('../pages/overview/Overview.tsx'));
const accounts = lazy(() => import('../pages/accounts/Accounts.tsx'));
const jobs = lazy(() => import('../pages/jobs/Jobs.tsx'));
const events = lazy(() => import('../pages/events/Events.tsx'));
const records = lazy(() => import('../pages/records/Records.tsx'));
const disclosures = lazy(() => import('../pages/disclosures/Disclosures.tsx'));
const requests = lazy(() => import('../pages/requests/Requests.tsx'));
const sandbox = lazy(() => import('../pages/sandbox/Sandbox.tsx'));
const approvals = lazy(() => import('../pages/approvals/Approvals.tsx'));
const audit = lazy(() => import('../pages/audit/Audit.tsx'));
const settings = lazy(() => import('../pages/settings/Settings.tsx'));

/** All pages in the order of the menu. */
export const pages: readonly PageEntry[] = [
  { path: '/overview', label: 'Overview', icon: 'overview', per_client: true, component: overview },
  { path: '/accounts', label: 'Accounts', icon: 'accounts', per_client: true, component: accounts },
  { path: '/jobs', label: 'Jobs', icon: 'jobs', per_client: true, component: jobs },
  { path: '/events', label: 'Events & webhooks', icon: 'events', per_client: true, component: events },
  {
    path: '/records',
    label: 'Records',
    icon: 'records',
    per_client: true,
    listed_for: 'read_only',
    component: records,
  },
  {
    path: '/disclosures',
    label: 'Disclosures',
    icon: 'disclosures',
    per_client: true,
    permission: 'may_see_disclosures',
    component: disclosures,
  },
  { path: '/requests', label: 'Requests', icon: 'requests', component: requests },
  { path: '/sandbox', label: 'Sandbox', icon: 'sandbox', sandbox: true, role: 'read_only', component: sandbox },
  { path: '/approvals', label: 'Approvals', icon: 'check', four_eyes: true, component: approvals },
  { path: '/audit', label: 'Audit log', icon: 'audit', role: 'read_only', of_any_client: true, component: audit },
  { path: '/settings', label: 'Settings', icon: 'settings', component: settings },
];
