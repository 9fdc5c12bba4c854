import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { workspaceRoute } from '../app/base-routes.tsx';
import { textsOf } from '../ui/search.ts';

export const skillsRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/skills',
  validateSearch: textsOf(['q', 'curation_state']),
  component: lazyRouteComponent(() => import('./skills-page.tsx'), 'SkillsPage'),
});
export const skillRoute = createRoute({
  getParentRoute: () => workspaceRoute,
  path: '/skills/$skillId',
  component: lazyRouteComponent(() => import('./skill-page.tsx'), 'SkillPage'),
});
