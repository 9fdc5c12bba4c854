import type { ResolvedRef, RevisionDocument, RevisionDraft } from '../../db/agents/revisions/revision-document.ts';

/**
 * Returns a document that another organization can import: references by slug and scope, without ids. A toolkit or sub-agent pinned to a revision becomes
 * `active`, since a revision has no name beside its id.
 */
export function toPortable(document: RevisionDocument): RevisionDraft {
  return {
    ...document,
    tools: document.tools.map(withoutId),
    toolkits: document.toolkits.map((binding) => ({ ...withoutId(binding), revision: 'active' })),
    skills: document.skills.map(withoutId),
    sub_agents: document.sub_agents.map((binding) => ({ ...withoutId(binding), revision: 'active' })),
    knowledge: document.knowledge.map(withoutId),
  };
}

function withoutId<B extends ResolvedRef>({ id: _id, ...rest }: B): Omit<B, 'id'> {
  return rest;
}
