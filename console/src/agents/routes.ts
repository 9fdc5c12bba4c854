import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const agentsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/agents',
  validateSearch: textsOf(['q', 'scope', 'active']),
  component: lazyRouteComponent(() => import('./agents-page.tsx'), 'AgentsPage'),
});
export const agentRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/agents/$agentId',
  component: lazyRouteComponent(() => import('./agent-page.tsx'), 'AgentPage'),
});
/** `from`: the revision that the draft begins with; without one, the active one. */
export const draftRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/agents/$agentId/draft',
  validateSearch: textsOf(['from']),
  component: lazyRouteComponent(() => import('./draft-page.tsx'), 'DraftPage'),
});
/** `against`: the revision with which it is compared; without one, the one before. */
export const revisionRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/agents/$agentId/revisions/$revisionId',
  validateSearch: textsOf(['against', 'persona']),
  component: lazyRouteComponent(() => import('./revision-page.tsx'), 'RevisionPage'),
});
