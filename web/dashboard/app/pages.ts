import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import type { OperatorRole } from '../../../src/model/dashboard/roles.ts';

export type PageEntry = {
  /** Below `/dashboard`, and below `/dashboard/clients/<client>` for what belongs to one client. */
  path: string;
  label: string;
  /** What it shows belongs to one client. */
  of_client: boolean;
  sandbox?: true;
  role?: OperatorRole;
  component: LazyExoticComponent<ComponentType>;
};

/** Every page there is, in the order of the menu. A new one is a folder in pages/ and a line here. */
export const pages: readonly PageEntry[] = [
  {
    path: '/accounts',
    label: 'Accounts',
    of_client: true,
    component: lazy(() => import('../pages/accounts/Accounts.tsx')),
  },
  {
    path: '/jobs',
    label: 'Jobs',
    of_client: true,
    component: lazy(() => import('../pages/jobs/Jobs.tsx')),
  },
  {
    path: '/events',
    label: 'Events & webhooks',
    of_client: true,
    component: lazy(() => import('../pages/events/Events.tsx')),
  },
  {
    path: '/requests',
    label: 'Requests',
    of_client: false,
    component: lazy(() => import('../pages/requests/Requests.tsx')),
  },
  {
    path: '/sandbox',
    label: 'Sandbox',
    of_client: false,
    sandbox: true,
    component: lazy(() => import('../pages/sandbox/Sandbox.tsx')),
  },
  {
    path: '/audit',
    label: 'Audit',
    of_client: false,
    component: lazy(() => import('../pages/audit/Audit.tsx')),
  },
  {
    path: '/settings',
    label: 'Settings',
    of_client: false,
    component: lazy(() => import('../pages/settings/Settings.tsx')),
  },
];
