import {
  completeKnowledgeBinding,
  completeSkillBinding,
  completeSubAgentBinding,
  type BindingDraft,
  type KnowledgeBinding,
  type Ref,
  type RevisionDraft,
  type SkillBinding,
  type SubAgentBinding,
} from '../../db/agents/revisions/revision-document.ts';
import { atActivation, atCreate, type RevisionProblem } from './revision-problems.ts';
import {
  nearest,
  type AgentTarget,
  type RevisionScope,
  type RevisionTargets,
  type SkillTarget,
} from '../../db/agents/revisions/revision-targets.ts';

type ReferenceKind = 'tool' | 'toolkit' | 'skill' | 'sub_agent' | 'knowledge';

const words: Readonly<Record<ReferenceKind, string>> = {
  tool: 'tool',
  toolkit: 'toolkit',
  skill: 'skill',
  sub_agent: 'agent',
  knowledge: 'knowledge base',
};

/** The problem of a reference that does not resolve. */
export function unresolved(pointer: string, kind: ReferenceKind, ref: Ref): RevisionProblem {
  if (ref.id === undefined && ref.slug === undefined) return atCreate(pointer, { rule: 'required', message: 'id or slug is required' });
  return atCreate(pointer, {
    rule: 'reference',
    message: `The ${words[kind]} does not exist in a scope that the agent can use.`,
    params: { kind, slug: ref.slug ?? null },
  });
}

/** Resolves the skills of a draft, and returns the problems of each binding. `agentId` is the agent's own, whose skills load once they are reviewed. */
export function bindSkills(
  drafts: NonNullable<RevisionDraft['skills']>,
  targets: RevisionTargets,
  agentId: string | undefined,
): { bindings: SkillBinding[]; problems: RevisionProblem[] } {
  const problems: RevisionProblem[] = [];
  const bindings: SkillBinding[] = [];
  for (const [index, draft] of drafts.entries()) {
    const pointer = `/skills/${index}`;
    const target = nearest(targets.skills, draft);
    if (!target) problems.push(unresolved(pointer, 'skill', draft));
    else if (bindings.some((other) => other.slug === target.slug))
      problems.push(taken(pointer, 'A skill with this name is already bound.', target.slug));
    else {
      const binding = completeSkillBinding(draft, target);
      problems.push(...skillProblems(pointer, binding, { target, isOwn: agentId !== undefined && target.owner_agent_id === agentId }));
      bindings.push(binding);
    }
  }
  return { bindings, problems };
}

function skillProblems(
  pointer: string,
  binding: SkillBinding,
  { target, isOwn }: { readonly target: SkillTarget; readonly isOwn: boolean },
): RevisionProblem[] {
  const params = { kind: 'skill', slug: target.slug };
  if (binding.version !== null && binding.version > target.version)
    return [
      atCreate(`${pointer}/version`, {
        rule: 'reference',
        message: 'The skill has no such version.',
        params: { ...params, kind: 'skill_version' },
      }),
    ];
  const isReviewed = isOwn && target.curation_state === 'reviewed';
  const newest = isReviewed ? target.version : (target.promoted_version ?? 0);
  const isLoadable =
    binding.version === null
      ? newest > 0 || target.superseded_by !== null
      : binding.version === newest || target.promoted_versions.includes(binding.version);
  if (!target.is_active || target.curation_state === 'retired' || !isLoadable)
    return [atActivation(pointer, { rule: 'inactive', message: 'The skill is not active, or this version was never promoted.', params })];
  return [];
}

/** Resolves the knowledge bases of a draft of a revision or a persona. Each call of a run checks who may read them. */
export function bindKnowledge(
  drafts: readonly BindingDraft<KnowledgeBinding>[],
  targets: Pick<RevisionTargets, 'knowledge'>,
): { bindings: KnowledgeBinding[]; problems: RevisionProblem[] } {
  const problems: RevisionProblem[] = [];
  const bindings: KnowledgeBinding[] = [];
  for (const [index, draft] of drafts.entries()) {
    const pointer = `/knowledge/${index}`;
    const target = nearest(targets.knowledge, draft);
    if (!target) problems.push(unresolved(pointer, 'knowledge', draft));
    else if (bindings.some(({ id }) => id === target.id))
      problems.push(taken(pointer, 'The knowledge base is already bound.', target.slug));
    else bindings.push(completeKnowledgeBinding(draft, target));
  }
  return { bindings, problems };
}

/** Resolves the sub-agents of a draft, and returns the problems of each binding except cycles. */
export function bindSubAgents(
  drafts: NonNullable<RevisionDraft['sub_agents']>,
  targets: RevisionTargets,
  rowScope: RevisionScope,
): { bindings: SubAgentBinding[]; problems: RevisionProblem[] } {
  const problems: RevisionProblem[] = [];
  const bindings: SubAgentBinding[] = [];
  for (const [index, draft] of drafts.entries()) {
    const pointer = `/sub_agents/${index}`;
    const target = nearest(targets.agents, draft);
    if (!target) problems.push(unresolved(pointer, 'sub_agent', draft));
    else if (target.id === rowScope.id) problems.push(atCreate(pointer, { rule: 'cycle', message: 'An agent cannot call itself.' }));
    else if (bindings.some((other) => other.slug === target.slug))
      problems.push(taken(pointer, 'An agent with this name is already bound.', target.slug));
    else {
      const binding = completeSubAgentBinding(draft, target);
      problems.push(...subAgentProblems(pointer, binding, target));
      bindings.push(binding);
    }
  }
  return { bindings, problems };
}

function subAgentProblems(pointer: string, binding: SubAgentBinding, target: AgentTarget): RevisionProblem[] {
  const params = { kind: 'agent', slug: target.slug };
  const problems: RevisionProblem[] = [];
  if (binding.revision !== 'active' && !target.revision_ids.includes(binding.revision))
    problems.push(
      atCreate(`${pointer}/revision`, {
        rule: 'reference',
        message: 'The agent has no such revision.',
        params: { ...params, kind: 'agent_revision' },
      }),
    );
  if (binding.persona_slug !== null && !target.persona_slugs.includes(binding.persona_slug))
    problems.push(
      atCreate(`${pointer}/persona_slug`, {
        rule: 'reference',
        message: 'The agent has no such persona.',
        params: { kind: 'persona', slug: binding.persona_slug },
      }),
    );
  if (!target.is_active) problems.push(atActivation(pointer, { rule: 'inactive', message: 'The agent is not active.', params }));
  else if (binding.revision === 'active' && target.active_revision_id === null)
    problems.push(atActivation(pointer, { rule: 'inactive', message: 'The agent has no active revision.', params }));
  return problems;
}

function taken(pointer: string, message: string, slug: string): RevisionProblem {
  return atCreate(pointer, { rule: 'uniqueItems', message, params: { slug } });
}
