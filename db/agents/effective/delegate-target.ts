import type { DelegateToolConfig } from '../../tools/kind-config.ts';
import type { BoundAgent, ResolvedBindings } from './bound-rows.ts';

export type DelegateOutput = 'text' | 'json';

/** The target of a delegate tool, as a run keeps it until its end. */
export interface PinnedDelegate {
  readonly agent_id: string;
  readonly agent_slug: string;
  readonly revision_id: string;
  /** Null: the agent's default persona. */
  readonly persona_slug: string | null;
  readonly history: 'none' | 'summary';
  readonly output: DelegateOutput;
  /** Decimal string. */
  readonly max_cost: string | null;
}

/** Returns the target of a delegate tool, or null when that agent cannot be called. */
export function delegateOf(config: Readonly<Record<string, unknown>> | undefined, bound: ResolvedBindings): PinnedDelegate | null {
  // The API has checked the config against its kind.
  const { agent, revision, persona_slug, history, output, max_cost } = config as unknown as DelegateToolConfig;
  const found = findAgent(bound, agent.id, revision);
  const revisionId = usableRevision(found);
  if (!found || revisionId === null) return null;
  return { agent_id: found.id, agent_slug: found.slug, revision_id: revisionId, persona_slug, history, output, max_cost };
}

/** Returns the agent as a binding or a tool refers to it. */
export function findAgent(bound: ResolvedBindings, agentId: string, revision: string): BoundAgent | undefined {
  return bound.sub_agents.find((agent) => agent.id === agentId && agent.asked_revision === revision);
}

/** Returns the revision that a call runs, or null when the agent cannot be called. */
export function usableRevision(agent: BoundAgent | undefined): string | null {
  return agent?.is_active ? agent.revision_id : null;
}
