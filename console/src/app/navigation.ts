import type { LinkProps } from '@tanstack/react-router';
import { t } from '../messages/en.ts';
import type { Rank } from './access.ts';

export interface NavigationLink {
  readonly to: LinkProps['to'] & `/w/$workspaceId/${string}`;
  readonly label: string;
  /** Below this role there is nothing to see. */
  readonly floor: Rank;
  /** Whether it also says how many questions wait. */
  readonly countsQuestions?: true;
}

/** Where one can go from anywhere, in groups. What a role may not see is left out by whoever shows it. */
export const navigation: readonly { readonly title: string; readonly links: readonly NavigationLink[] }[] = [
  {
    title: t.nav.work,
    links: [
      { to: '/w/$workspaceId/runs', label: t.nav.runs, floor: 'viewer' },
      { to: '/w/$workspaceId/approvals', label: t.nav.approvals, floor: 'viewer', countsQuestions: true },
      { to: '/w/$workspaceId/playground', label: t.nav.playground, floor: 'viewer' },
    ],
  },
  // agents, tools, skills
  {
    title: t.nav.build,
    links: [
      { to: '/w/$workspaceId/agents', label: t.nav.agents, floor: 'viewer' },
      { to: '/w/$workspaceId/tools', label: t.nav.tools, floor: 'viewer' },
      { to: '/w/$workspaceId/toolkits', label: t.nav.toolkits, floor: 'viewer' },
      { to: '/w/$workspaceId/skills', label: t.nav.skills, floor: 'viewer' },
      { to: '/w/$workspaceId/knowledge', label: t.nav.knowledge, floor: 'viewer' },
    ],
  },
  // triggers, channels, reviews, evaluations
  {
    title: t.nav.automate,
    links: [
      { to: '/w/$workspaceId/schedules', label: t.nav.schedules, floor: 'viewer' },
      { to: '/w/$workspaceId/webhook-endpoints', label: t.nav.webhooks, floor: 'viewer' },
      { to: '/w/$workspaceId/event-triggers', label: t.nav.eventTriggers, floor: 'viewer' },
      { to: '/w/$workspaceId/events', label: t.nav.events, floor: 'viewer' },
      { to: '/w/$workspaceId/channels', label: t.nav.channels, floor: 'viewer' },
      { to: '/w/$workspaceId/repositories', label: t.nav.repositories, floor: 'viewer' },
      { to: '/w/$workspaceId/review-playbooks', label: t.nav.playbooks, floor: 'viewer' },
      { to: '/w/$workspaceId/evaluations', label: t.nav.evaluations, floor: 'viewer' },
    ],
  },
  // usage, budgets, alerts, people, audit
  {
    title: t.nav.organization,
    links: [
      { to: '/w/$workspaceId/usage', label: t.nav.usage, floor: 'viewer' },
      { to: '/w/$workspaceId/budgets', label: t.nav.budgets, floor: 'viewer' },
      { to: '/w/$workspaceId/prices', label: t.nav.prices, floor: 'viewer' },
      { to: '/w/$workspaceId/alerts', label: t.nav.alerts, floor: 'viewer' },
      { to: '/w/$workspaceId/people', label: t.nav.people, floor: 'viewer' },
      { to: '/w/$workspaceId/invitations', label: t.nav.invitations, floor: 'admin' },
      { to: '/w/$workspaceId/service-keys', label: t.nav.serviceKeys, floor: 'admin' },
      { to: '/w/$workspaceId/audit-log', label: t.nav.auditLog, floor: 'admin' },
      { to: '/w/$workspaceId/settings', label: t.nav.settings, floor: 'viewer' },
    ],
  },
  // operator
  {
    title: t.nav.operator,
    links: [
      { to: '/w/$workspaceId/operator/organizations', label: t.nav.organizations, floor: 'operator' },
      { to: '/w/$workspaceId/operator/impersonations', label: t.nav.impersonations, floor: 'operator' },
      { to: '/w/$workspaceId/operator/oauth-clients', label: t.nav.oauthClients, floor: 'operator' },
      { to: '/w/$workspaceId/operator/system', label: t.nav.system, floor: 'operator' },
    ],
  },
];
