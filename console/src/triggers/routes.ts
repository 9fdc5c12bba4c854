import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const schedulesRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/schedules',
  validateSearch: textsOf(['q']),
  component: lazyRouteComponent(() => import('./schedules-page.tsx'), 'SchedulesPage'),
});
export const scheduleRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/schedules/$scheduleId',
  component: lazyRouteComponent(() => import('./schedule-page.tsx'), 'SchedulePage'),
});
export const endpointsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/webhook-endpoints',
  validateSearch: textsOf(['q']),
  component: lazyRouteComponent(() => import('./endpoints-page.tsx'), 'EndpointsPage'),
});
export const endpointRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/webhook-endpoints/$endpointId',
  validateSearch: textsOf(['status']),
  component: lazyRouteComponent(() => import('./endpoint-page.tsx'), 'EndpointPage'),
});
export const eventTriggersRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/event-triggers',
  component: lazyRouteComponent(() => import('./event-triggers-page.tsx'), 'EventTriggersPage'),
});
export const eventsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/events',
  validateSearch: textsOf(['event_kind']),
  component: lazyRouteComponent(() => import('./events-page.tsx'), 'EventsPage'),
});
