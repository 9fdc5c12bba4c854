import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const alertsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/alerts',
  validateSearch: textsOf(['status', 'severity', 'rule_id']),
  component: lazyRouteComponent(() => import('./alerts-page.tsx'), 'AlertsPage'),
});
export const alertRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/alerts/$alertId',
  component: lazyRouteComponent(() => import('./alert-page.tsx'), 'AlertPage'),
});
export const alertRulesRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/alert-rules',
  component: lazyRouteComponent(() => import('./rules-page.tsx'), 'RulesPage'),
});
