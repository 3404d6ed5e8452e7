import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import type { OperatorRole } from '../service/types.ts';

export type PageEntry = {
  /** Below `/dashboard`, or below `/dashboard/clients/<client>` for a client's pages. */
  path: string;
  label: string;
  per_client: boolean;
  sandbox?: true;
  role?: OperatorRole;
  component: LazyExoticComponent<ComponentType>;
};

/** All pages in the order of the menu. */
export const pages: readonly PageEntry[] = [
  {
    path: '/overview',
    label: 'Overview',
    per_client: true,
    component: lazy(() => import('../pages/overview/Overview.tsx')),
  },
  {
    path: '/accounts',
    label: 'Accounts',
    per_client: true,
    component: lazy(() => import('../pages/accounts/Accounts.tsx')),
  },
  {
    path: '/jobs',
    label: 'Jobs',
    per_client: true,
    component: lazy(() => import('../pages/jobs/Jobs.tsx')),
  },
  {
    path: '/events',
    label: 'Events & webhooks',
    per_client: true,
    component: lazy(() => import('../pages/events/Events.tsx')),
  },
  {
    path: '/records',
    label: 'Records',
    per_client: true,
    component: lazy(() => import('../pages/records/Records.tsx')),
  },
  {
    path: '/requests',
    label: 'Requests',
    per_client: false,
    component: lazy(() => import('../pages/requests/Requests.tsx')),
  },
  {
    path: '/sandbox',
    label: 'Sandbox',
    per_client: false,
    sandbox: true,
    component: lazy(() => import('../pages/sandbox/Sandbox.tsx')),
  },
  {
    path: '/audit',
    label: 'Audit log',
    per_client: false,
    component: lazy(() => import('../pages/audit/Audit.tsx')),
  },
  {
    path: '/settings',
    label: 'Settings',
    per_client: false,
    component: lazy(() => import('../pages/settings/Settings.tsx')),
  },
];
