import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { parseRunFilters } from './run-filters.ts';
import { parseRunTab } from './run-tab.ts';

export const runsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/runs',
  validateSearch: parseRunFilters,
  component: lazyRouteComponent(() => import('./runs-page.tsx'), 'RunsPage'),
});
export const runRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/runs/$runId',
  validateSearch: parseRunTab,
  component: lazyRouteComponent(() => import('./run-page.tsx'), 'RunPage'),
});
