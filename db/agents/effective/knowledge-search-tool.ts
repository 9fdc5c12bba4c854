import { knowledgeSearchInputSchema } from '../../tools/builtin-schemas.ts';
import type { EffectiveTool } from './effective-tools.ts';
import { skillLoadTool } from './skill-load-tool.ts';

/** The builtin, without a row, that every run with bases to search has, whether or not its author bound one. */
export const knowledgeSearchTool: EffectiveTool = {
  ...skillLoadTool,
  name: 'knowledge_search',
  description: 'Searches the knowledge bases of this agent and gives passages with where they stand.',
  input_schema: knowledgeSearchInputSchema,
};
