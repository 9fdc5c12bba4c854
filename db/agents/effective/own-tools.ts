import { knowledgeSearchInputSchema, knowledgeWriteInputSchema, skillLoadInputSchema } from '../../tools/builtin-schemas.ts';
import { approvalOf, type EffectiveTool } from './effective-tools.ts';
import type { RevisionDocument } from '../revisions/revision-document.ts';

/** The builtin, without a row, that every run with skills to load has, whether or not its author bound one. */
export const skillLoadTool: EffectiveTool = {
  name: 'skill_load',
  tool_id: null,
  version: 1,
  toolkit_revision_id: null,
  kind: 'builtin',
  description: 'Loads a skill, or one of its documents, from the list of skills.',
  input_schema: skillLoadInputSchema,
  effect: 'read',
  critical: false,
  concurrency: 'read',
  client_owned: false,
  approval: { required: false, reason: null, floor: 'member' },
  timeout_s: 30,
  response_max_chars: 100_000,
  secrets_missing: [],
  max_calls: null,
  preset: {},
  own_description: null,
  own_timeout_s: null,
  asks: [],
  delegate: null,
};

/** The builtin, without a row, that every run with bases to search has, whether or not its author bound one. */
export const knowledgeSearchTool: EffectiveTool = {
  ...skillLoadTool,
  name: 'knowledge_search',
  description: 'Searches the knowledge bases of this agent and gives passages with where they stand.',
  input_schema: knowledgeSearchInputSchema,
};

/** What all tools of `knowledgeWriteTool` have in common. */
export const knowledgeWriteDefaults: EffectiveTool = {
  ...skillLoadTool,
  name: 'knowledge_write',
  description: 'Keeps something in a knowledge base of this agent, where it waits for a curator.',
  input_schema: knowledgeWriteInputSchema,
  effect: 'write',
  concurrency: 'write',
};

/**
 * Returns the builtin, without a row, that every run with a base bound for writing has, whether or not its author bound one. It needs an approval when the
 * revision requires one for writes.
 */
export function knowledgeWriteTool(document: Pick<RevisionDocument, 'approvals'>): EffectiveTool {
  const approval = approvalOf({ critical: false, effect: 'write', approval: 'default' }, document);
  return { ...knowledgeWriteDefaults, approval, asks: document.approvals.write === 'ask' ? ['write'] : [] };
}
