import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const organizationsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/operator/organizations',
  validateSearch: textsOf(['q']),
  component: lazyRouteComponent(() => import('./organizations-page.tsx'), 'OrganizationsPage'),
});
export const impersonationsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/operator/impersonations',
  component: lazyRouteComponent(() => import('./impersonations-page.tsx'), 'ImpersonationsPage'),
});
export const clientsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/operator/oauth-clients',
  component: lazyRouteComponent(() => import('./clients-page.tsx'), 'ClientsPage'),
});
export const systemRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/operator/system',
  component: lazyRouteComponent(() => import('./system-page.tsx'), 'SystemPage'),
});
