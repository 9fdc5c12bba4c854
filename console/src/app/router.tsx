import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Navigate, Outlet } from '@tanstack/react-router';
import { lazy } from 'react';
import { parseConversation } from '../playground/conversation.ts';
import { parseRunFilters } from '../runs/run-filters.ts';
import { AcceptInvitation, ConfirmEmail, ForgotPassword, NewPassword } from './mail-pages.tsx';
import { Gate } from './gate.tsx';
import { NotFound, ViewFault } from './not-found.tsx';

// Those who are not signed in don't wait for what only others see.
const Shell = lazy(() => import('./shell.tsx').then(({ Shell }) => ({ default: Shell })));
const Home = lazyRouteComponent(() => import('./shell.tsx'), 'Home');

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => (
    <Gate>
      <Shell>
        <NotFound />
      </Shell>
    </Gate>
  ),
});

const forgot = createRoute({ getParentRoute: () => root, path: '/forgot', component: ForgotPassword });
const reset = createRoute({ getParentRoute: () => root, path: '/password-reset', component: () => <NewPassword isFirst={false} /> });
const first = createRoute({ getParentRoute: () => root, path: '/password-set', component: () => <NewPassword isFirst /> });
const confirm = createRoute({ getParentRoute: () => root, path: '/email-confirm', component: ConfirmEmail });
const invitation = createRoute({ getParentRoute: () => root, path: '/invitation', component: AcceptInvitation });

/** Everything below needs a session. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: () => (
    <Gate>
      <Outlet />
    </Gate>
  ),
});
const home = createRoute({ getParentRoute: () => inside, path: '/', component: Home });
export const workspaceRoute = createRoute({
  getParentRoute: () => inside,
  path: '/w/$workspaceId',
  component: () => (
    <Shell>
      <Outlet />
    </Shell>
  ),
});
const workspaceHome = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/',
  component: function ToRuns() {
    return <Navigate to="/w/$workspaceId/runs" params={workspaceRoute.useParams()} replace />;
  },
});
export const runsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/runs',
  validateSearch: parseRunFilters,
  component: lazyRouteComponent(() => import('../runs/runs-page.tsx'), 'RunsPage'),
});
export const runRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/runs/$runId',
  component: lazyRouteComponent(() => import('../runs/run-page.tsx'), 'RunPage'),
});
export const approvalsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/approvals',
  component: lazyRouteComponent(() => import('../approvals/approvals-page.tsx'), 'ApprovalsPage'),
});

export const playgroundRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/playground',
  validateSearch: parseConversation,
  component: lazyRouteComponent(() => import('../playground/playground-page.tsx'), 'PlaygroundPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    forgot,
    reset,
    first,
    confirm,
    invitation,
    inside.addChildren([home, workspaceRoute.addChildren([workspaceHome, runsRoute, runRoute, approvalsRoute, playgroundRoute])]),
  ]),
  basepath: '/console',
  defaultErrorComponent: ViewFault,
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
