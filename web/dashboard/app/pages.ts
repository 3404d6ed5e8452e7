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
    path: '/records',
    label: 'Records',
    of_client: true,
    component: lazy(() => import('../pages/records/Records.tsx')),
  },
  {
    path: '/settings',
    label: 'Settings',
    of_client: false,
    component: lazy(() => import('../pages/settings/Settings.tsx')),
  },
];
