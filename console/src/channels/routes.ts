import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const channelsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/channels',
  validateSearch: textsOf(['kind']),
  component: lazyRouteComponent(() => import('./channels-page.tsx'), 'ChannelsPage'),
});
