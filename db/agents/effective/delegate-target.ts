import type { DelegateToolConfig } from '../../tools/kind-config.ts';
import type { BoundAgent, ResolvedBindings } from './bound-rows.ts';

export type DelegateOutput = 'text' | 'json';

/** Whom a delegate tool asks, as a run keeps it to its end. */
export interface PinnedDelegate {
  readonly agent_id: string;
  readonly agent_slug: string;
  readonly revision_id: string;
  /** Null: the agent's default one. */
  readonly persona_slug: string | null;
  readonly history: 'none' | 'summary';
  readonly output: DelegateOutput;
  /** Decimal string. */
  readonly max_cost: string | null;
}

/** Whom a delegate tool asks, null when that agent can't be asked. */
export function delegateOf(config: Readonly<Record<string, unknown>> | undefined, bound: ResolvedBindings): PinnedDelegate | null {
  // The API has checked the config against its kind.
  const { agent, revision, persona_slug, history, output, max_cost } = config as unknown as DelegateToolConfig;
  const found = findAgent(bound, agent.id, revision);
  const revisionId = usableRevision(found);
  if (!found || revisionId === null) return null;
  return { agent_id: found.id, agent_slug: found.slug, revision_id: revisionId, persona_slug, history, output, max_cost };
}

/** The agent as a binding or a tool asks it. */
export function findAgent(bound: ResolvedBindings, agentId: string, revision: string): BoundAgent | undefined {
  return bound.sub_agents.find((agent) => agent.id === agentId && agent.asked_revision === revision);
}

/** The revision that a call runs; null when the agent can't be asked. */
export function usableRevision(agent: BoundAgent | undefined): string | null {
  return agent?.is_active ? agent.revision_id : null;
}
