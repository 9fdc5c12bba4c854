import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const peopleRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/people',
  validateSearch: textsOf(['q', 'role', 'active']),
  component: lazyRouteComponent(() => import('./people-page.tsx'), 'PeoplePage'),
});
export const personRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/people/$userId',
  component: lazyRouteComponent(() => import('./person-page.tsx'), 'PersonPage'),
});
export const invitationsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/invitations',
  validateSearch: textsOf(['status']),
  component: lazyRouteComponent(() => import('./invitations-page.tsx'), 'InvitationsPage'),
});
export const keysRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/service-keys',
  validateSearch: textsOf(['q', 'revoked']),
  component: lazyRouteComponent(() => import('./keys-page.tsx'), 'KeysPage'),
});
export const auditRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/audit-log',
  validateSearch: textsOf(['action', 'resource_type', 'actor_id', 'from', 'to']),
  component: lazyRouteComponent(() => import('./audit-page.tsx'), 'AuditPage'),
});
export const auditEntryRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/audit-log/$entryId',
  component: lazyRouteComponent(() => import('./audit-entry-page.tsx'), 'AuditEntryPage'),
});
