import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const usageRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/usage',
  validateSearch: textsOf(['group_by', 'from', 'to', 'workspace', 'calls']),
  component: lazyRouteComponent(() => import('./usage-page.tsx'), 'UsagePage'),
});
export const budgetsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/budgets',
  component: lazyRouteComponent(() => import('./budgets-page.tsx'), 'BudgetsPage'),
});
export const pricesRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/prices',
  validateSearch: textsOf(['model', 'bucket', 'at']),
  component: lazyRouteComponent(() => import('./prices-page.tsx'), 'PricesPage'),
});
