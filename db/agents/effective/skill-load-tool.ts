import { skillLoadInputSchema } from '../../tools/builtin-schemas.ts';
import type { EffectiveTool } from './effective-tools.ts';

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
