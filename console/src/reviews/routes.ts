import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const bindingsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/repositories',
  component: lazyRouteComponent(() => import('./bindings-page.tsx'), 'BindingsPage'),
});
export const playbooksRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/review-playbooks',
  validateSearch: textsOf(['q']),
  component: lazyRouteComponent(() => import('./playbooks-page.tsx'), 'PlaybooksPage'),
});
export const playbookRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/review-playbooks/$playbookId',
  component: lazyRouteComponent(() => import('./playbook-page.tsx'), 'PlaybookPage'),
});
