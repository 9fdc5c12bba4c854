import { createRootRoute, createRoute, Outlet } from '@tanstack/react-router';
import { lazy } from 'react';
import { Gate } from './gate.tsx';
import { NotFound } from './not-found.tsx';

// Those who are not signed in don't wait for what only others see.
const Shell = lazy(() => import('./shell.tsx').then(({ Shell }) => ({ default: Shell })));

export const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => (
    <Gate>
      <Shell>
        <NotFound />
      </Shell>
    </Gate>
  ),
});

/** Everything below needs a session. */
export const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: () => (
    <Gate>
      <Outlet />
    </Gate>
  ),
});

/** Below it lie the views of a workspace; each area has its own `routes.ts`. */
export const workspaceRoute = createRoute({
  getParentRoute: () => inside,
  path: '/w/$workspaceId',
  component: () => (
    <Shell>
      <Outlet />
    </Shell>
  ),
});
