import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const evaluationsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/evaluations',
  validateSearch: textsOf(['status']),
  component: lazyRouteComponent(() => import('./evaluations-page.tsx'), 'EvaluationsPage'),
});
export const evaluationRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/evaluations/$evaluationId',
  component: lazyRouteComponent(() => import('./evaluation-page.tsx'), 'EvaluationPage'),
});
