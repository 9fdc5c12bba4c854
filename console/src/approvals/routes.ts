import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';

export const approvalsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/approvals',
  component: lazyRouteComponent(() => import('./approvals-page.tsx'), 'ApprovalsPage'),
});
