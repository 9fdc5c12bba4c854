import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { parseConversation } from './conversation.ts';

export const playgroundRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/playground',
  validateSearch: parseConversation,
  component: lazyRouteComponent(() => import('./playground-page.tsx'), 'PlaygroundPage'),
});
