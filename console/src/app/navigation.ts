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
];
