import { askInputSchema, askSlug } from './ask-schema.ts';
import type { BoundAgent, ResolvedBindings } from './bound-rows.ts';
import { findAgent, usableRevision } from './delegate-target.ts';
import type { EffectiveSubAgent, EffectiveWarning } from './effective.ts';
import { approvalOf, stricter, type EffectiveTool } from './effective-tools.ts';
import type { PersonaDocument } from '../personas/persona-document.ts';
import type { RevisionDocument, SubAgentBinding } from '../revisions/revision-document.ts';

interface DelegateSource {
  readonly document: RevisionDocument;
  readonly persona: Pick<PersonaDocument, 'tools_allow'> | null;
  readonly bound: ResolvedBindings;
}

/** Returns the agents that may be called and the tools by which the model calls them. An agent whose tool name is already taken is omitted, with a warning. */
export function effectiveSubAgents(
  { document, persona, bound }: DelegateSource,
  taken: readonly EffectiveTool[],
): { sub_agents: EffectiveSubAgent[]; tools: EffectiveTool[]; warnings: EffectiveWarning[] } {
  const agents: EffectiveSubAgent[] = [];
  const tools: EffectiveTool[] = [];
  const warnings: EffectiveWarning[] = [];
  const allowed = persona?.tools_allow ?? null;
  for (const [index, binding] of document.sub_agents.entries()) {
    const name = askSlug(binding);
    if (allowed !== null && !allowed.includes(name)) continue;
    const found = findAgent(bound, binding.id, binding.revision);
    const revisionId = usableRevision(found);
    const isTaken = taken.some((tool) => tool.name === name);
    if (!found || revisionId === null || isTaken) {
      const why = isTaken ? `is asked under the name ${name}, which another tool has,` : 'is not active';
      warnings.push(leftOut(index, binding.slug, why));
      continue;
    }
    agents.push(toSubAgent(binding, found, revisionId));
    tools.push(askTool(binding, { found, revisionId, document }));
  }
  return { sub_agents: agents, tools, warnings };
}

/** Several tools may call the same agent, revision and persona, as a sub-agent and through delegate tools: each gets the strictest approval of them all. */
export function sameAgents(tools: readonly EffectiveTool[]): EffectiveTool[] {
  return tools.map((tool) => tools.filter((other) => other !== tool && asksTheSame(tool, other)).reduce(stricter, tool));
}

function asksTheSame({ delegate: one }: EffectiveTool, { delegate: other }: EffectiveTool): boolean {
  return (
    one !== null && one.agent_id === other?.agent_id && one.revision_id === other.revision_id && one.persona_slug === other.persona_slug
  );
}

function toSubAgent(binding: SubAgentBinding, found: BoundAgent, revisionId: string): EffectiveSubAgent {
  return {
    agent_id: found.id,
    revision_id: revisionId,
    slug: binding.slug,
    persona_slug: binding.persona_slug,
    description: binding.description ?? found.description,
    history: binding.history,
    max_calls: binding.max_calls,
    max_cost: binding.max_cost,
    tool_name: askSlug(binding),
  };
}

interface AskedAgent {
  readonly found: BoundAgent;
  readonly revisionId: string;
  readonly document: RevisionDocument;
}

/** Like `skill_load`, this tool has no row: a run keeps its pin and the called agent's revision. */
function askTool(binding: SubAgentBinding, { found, revisionId, document }: AskedAgent): EffectiveTool {
  const description = binding.description ?? `Asks the agent ${found.name}. ${found.description ?? ''}`.trim();
  return {
    ...askDefaults,
    name: askSlug(binding),
    description,
    input_schema: askInputSchema(found.input_schema),
    approval: approvalOf({ critical: false, effect: 'write', approval: 'default' }, document),
    max_calls: binding.max_calls,
    own_description: description,
    asks: document.approvals.write === 'ask' ? ['write'] : [],
    delegate: {
      agent_id: found.id,
      agent_slug: found.slug,
      revision_id: revisionId,
      persona_slug: binding.persona_slug,
      history: binding.history,
      output: 'text',
      max_cost: binding.max_cost,
    },
  };
}

/** Values common to all tools that call a sub-agent. */
export const askDefaults = {
  tool_id: null,
  version: 1,
  toolkit_revision_id: null,
  kind: 'delegate',
  effect: 'write',
  critical: false,
  concurrency: 'write',
  client_owned: false,
  timeout_s: 3_600,
  response_max_chars: 20_000,
  secrets_missing: [],
  preset: {},
  own_timeout_s: null,
} as const;

function leftOut(index: number, slug: string, why: string): EffectiveWarning {
  return {
    pointer: `/sub_agents/${index}`,
    rule: 'left_out',
    message: `the agent ${slug} ${why} and is left out`,
    params: { kind: 'agent', slug },
  };
}
