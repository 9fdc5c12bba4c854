import { createRoute, createRouter, lazyRouteComponent, Navigate } from '@tanstack/react-router';
import { accountRoute } from '../account/routes.ts';
import { agentRoute, agentsRoute } from '../agents/routes.ts';
import { alertRoute, alertRulesRoute, alertsRoute } from '../alerts/routes.ts';
import { approvalsRoute } from '../approvals/routes.ts';
import { channelsRoute } from '../channels/routes.ts';
import { consentRoute } from '../consent/routes.ts';
import { evaluationRoute, evaluationsRoute } from '../evaluations/routes.ts';
import { baseRoute, basesRoute } from '../knowledge/routes.ts';
import { clientsRoute, impersonationsRoute, organizationsRoute, systemRoute } from '../operator/routes.ts';
import { settingsRoute } from '../organization/routes.ts';
import { auditEntryRoute, auditRoute, invitationsRoute, keysRoute, peopleRoute, personRoute } from '../people/routes.ts';
import { playgroundRoute } from '../playground/routes.ts';
import { bindingsRoute, playbookRoute, playbooksRoute } from '../reviews/routes.ts';
import { runRoute, runsRoute } from '../runs/routes.ts';
import { skillRoute, skillsRoute } from '../skills/routes.ts';
import { toolkitRoute, toolkitsRoute, toolRoute, toolsRoute } from '../tools/routes.ts';
import { endpointRoute, endpointsRoute, eventsRoute, eventTriggersRoute, scheduleRoute, schedulesRoute } from '../triggers/routes.ts';
import { budgetsRoute, pricesRoute, usageRoute } from '../usage/routes.ts';
import { inside, root, workspaceRoute } from './base-routes.tsx';
import { AcceptInvitation, ConfirmEmail, ForgotPassword, NewPassword } from './mail-pages.tsx';
import { ViewFault } from './not-found.tsx';

const Home = lazyRouteComponent(() => import('./shell.tsx'), 'Home');

const forgot = createRoute({ getParentRoute: () => root, path: '/forgot', component: ForgotPassword });
const reset = createRoute({ getParentRoute: () => root, path: '/password-reset', component: () => <NewPassword isFirst={false} /> });
const first = createRoute({ getParentRoute: () => root, path: '/password-set', component: () => <NewPassword isFirst /> });
const confirm = createRoute({ getParentRoute: () => root, path: '/email-confirm', component: ConfirmEmail });
const invitation = createRoute({ getParentRoute: () => root, path: '/invitation', component: AcceptInvitation });

const home = createRoute({ getParentRoute: () => inside, path: '/', component: Home });
const workspaceHome = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/',
  component: function ToRuns() {
    return <Navigate to="/w/$workspaceId/runs" params={workspaceRoute.useParams()} replace />;
  },
});
export const router = createRouter({
  routeTree: root.addChildren([
    forgot,
    reset,
    first,
    confirm,
    invitation,
    inside.addChildren([
      home,
      consentRoute,
      workspaceRoute.addChildren([
        workspaceHome,
        // runs
        runsRoute,
        runRoute,
        // approvals
        approvalsRoute,
        // playground
        playgroundRoute,
        // agents
        agentsRoute,
        agentRoute,
        // tools
        toolsRoute,
        toolRoute,
        toolkitsRoute,
        toolkitRoute,
        // skills
        skillsRoute,
        skillRoute,
        // triggers
        schedulesRoute,
        scheduleRoute,
        endpointsRoute,
        endpointRoute,
        eventTriggersRoute,
        eventsRoute,
        // channels
        channelsRoute,
        // reviews
        bindingsRoute,
        playbooksRoute,
        playbookRoute,
        // knowledge
        basesRoute,
        baseRoute,
        // evaluations
        evaluationsRoute,
        evaluationRoute,
        // usage
        usageRoute,
        budgetsRoute,
        pricesRoute,
        // alerts
        alertsRoute,
        alertRoute,
        alertRulesRoute,
        // people
        peopleRoute,
        personRoute,
        invitationsRoute,
        keysRoute,
        auditRoute,
        auditEntryRoute,
        // organization
        settingsRoute,
        // account
        accountRoute,
        // operator
        organizationsRoute,
        impersonationsRoute,
        clientsRoute,
        systemRoute,
      ]),
    ]),
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
