import { linkOptions, type NavigateOptions } from '@tanstack/react-router';
import { isCode } from '@longhaul/client';
import { t } from '../messages/en.ts';
import type { Rank } from './access.ts';
import { api } from './api.ts';

/** Something that can be gone to by its name. */
export interface Found {
  /** Unique among all that is found. */
  readonly id: string;
  readonly label: string;
  readonly hint: string;
  readonly link: NavigateOptions;
}

/** Finds objects of one kind for Ctrl-K. A further kind is one more entry in `finders`. */
export interface Finder {
  readonly title: string;
  /** Below this role nothing is asked. */
  readonly floor: Rank;
  readonly find: (sought: Sought) => Promise<readonly Found[]>;
}

interface Sought {
  /** As it was typed, without blanks around it; never empty. */
  readonly text: string;
  readonly workspaceId: string;
  readonly signal: AbortSignal;
}

const foundAtMost = 8;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const finders: readonly Finder[] = [
  { title: t.palette.agents, floor: 'viewer', find: findAgents },
  { title: t.nav.runs, floor: 'viewer', find: findRuns },
];

/** Whether all words of a search occur in what an object is called. */
export function isNamed(text: string, ...names: readonly string[]): boolean {
  const whole = names.join(' ').toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => whole.includes(word));
}

async function findAgents({ text, workspaceId, signal }: Sought): Promise<Found[]> {
  const { items } = await api.listAgents({ limit: 200 }, { signal });
  return items
    .filter(({ id, name, slug }) => isNamed(text, name, slug, id))
    .slice(0, foundAtMost)
    .flatMap(({ id, name, slug }) => [
      {
        id: `talk:${id}`,
        label: t.palette.talkTo(name),
        hint: slug,
        link: linkOptions({ to: '/w/$workspaceId/playground', params: { workspaceId }, search: { agent: id } }),
      },
      {
        id: `runs-of:${id}`,
        label: t.palette.runsOf(name),
        hint: slug,
        link: linkOptions({ to: '/w/$workspaceId/runs', params: { workspaceId }, search: { agent_id: id } }),
      },
    ]);
}

/** One by its whole id, whatever its age; else among the latest, by the end of the id, the agent and what was asked. */
async function findRuns({ text, workspaceId, signal }: Sought): Promise<Found[]> {
  const runs = uuid.test(text)
    ? await api.getRun({ run_id: text.toLowerCase() }, { signal }).then(
        (run) => [run],
        (error: unknown) => {
          if (isCode(error, 'not_found')) return [];
          throw error;
        },
      )
    : (await api.listRuns({ workspace_id: workspaceId, limit: 200 }, { signal })).items;
  return runs
    .filter(({ id, agent_slug, input }) => isNamed(text, id, agent_slug, input.text ?? ''))
    .slice(0, foundAtMost)
    .map(({ id, agent_slug, input, status }) => ({
      id: `run:${id}`,
      label: input.text?.slice(0, 100) ?? t.runs.noText,
      hint: `${agent_slug}, ${t.status[status] ?? status}, ${id.slice(-12)}`,
      link: linkOptions({ to: '/w/$workspaceId/runs/$runId', params: { workspaceId, runId: id } }),
    }));
}
