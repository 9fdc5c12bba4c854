import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const agentsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/agents',
  validateSearch: textsOf(['q']),
  component: lazyRouteComponent(() => import('./agents-page.tsx'), 'AgentsPage'),
});
export const agentRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/agents/$agentId',
  validateSearch: textsOf(['part', 'revision', 'against', 'persona']),
  component: lazyRouteComponent(() => import('./agent-page.tsx'), 'AgentPage'),
});
