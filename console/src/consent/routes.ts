import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { inside } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const consentRoute = createRoute({
  getParentRoute: () => inside,
  path: '/consent',
  validateSearch: textsOf(['client_id', 'redirect_uri', 'scope', 'state', 'code_challenge', 'resource']),
  component: lazyRouteComponent(() => import('./consent-page.tsx'), 'ConsentPage'),
});
