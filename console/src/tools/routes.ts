import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const toolsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/tools',
  validateSearch: textsOf(['q', 'toolkit_id', 'kind', 'effect', 'critical']),
  component: lazyRouteComponent(() => import('./tools-page.tsx'), 'ToolsPage'),
});
export const toolRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/tools/$toolId',
  component: lazyRouteComponent(() => import('./tool-page.tsx'), 'ToolPage'),
});
export const toolkitsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/toolkits',
  component: lazyRouteComponent(() => import('./toolkits-page.tsx'), 'ToolkitsPage'),
});
export const toolkitRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/toolkits/$toolkitId',
  component: lazyRouteComponent(() => import('./toolkit-page.tsx'), 'ToolkitPage'),
});
