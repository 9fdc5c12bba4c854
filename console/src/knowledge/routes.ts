import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const basesRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/knowledge',
  validateSearch: textsOf(['q']),
  component: lazyRouteComponent(() => import('./bases-page.tsx'), 'BasesPage'),
});
export const baseRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/knowledge/$kbId',
  component: lazyRouteComponent(() => import('./base-page.tsx'), 'BasePage'),
});
