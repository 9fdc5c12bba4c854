import type { ConsentLink } from '../../db/mcp/consent-of-call.ts';
import type { CallState } from '../../db/runs/calls/call-state.ts';
import type { RunState } from '../../db/runs/run-state.ts';
import { questionOf } from '../../workflows/contracts/runs/ask-user.ts';
import type { Question } from '../../db/approvals/questions.ts';

const consentSchema = {
  type: 'object',
  properties: { code: { type: 'string', minLength: 1, maxLength: 4_096 }, state: { type: 'string', minLength: 1, maxLength: 1_024 } },
  required: ['code', 'state'],
  additionalProperties: false,
};

/** The question that a call asks. `consent`: the link where a person consents, for a call that needs one. */
export function questionOfCall(run: RunState, call: CallState, consent: ConsentLink | null = null): Question {
  const pinned = run.manifest?.tools.find((tool) => tool.slug === call.slug)?.floor ?? 'member';
  const base = { call, args: call.args, responseSchema: null, critical: call.critical, floor: call.critical ? 'admin' : pinned } as const;
  switch (call.gate) {
    case 'input': {
      const { prompt, responseSchema } = questionOf(call.args);
      return { ...base, reason: 'input_required', prompt, responseSchema, decisions: ['respond', 'reject'] };
    }
    case 'confirmation':
      return {
        ...base,
        reason: 'confirmation',
        prompt: `The call of ${call.slug} was interrupted while it was executed: it may have happened. Approve to execute it once more, reject to leave it, or respond with what came of it.`,
        decisions: ['approve', 'reject', 'respond'],
      };
    case 'auth':
      return {
        ...base,
        reason: 'auth',
        prompt: `The server of ${call.slug} asks for consent: open authorization_url, then respond with code and state.`,
        args: { authorization_url: consent?.url ?? null },
        ...(consent === null ? {} : { until: consent.until }),
        responseSchema: consentSchema,
        decisions: ['respond', 'reject'],
        floor: 'member',
      };
    default:
      return {
        ...base,
        reason: 'tool_call',
        prompt: `${run.agent_slug} asks to call ${call.slug}.`,
        decisions: ['approve', 'reject', 'edit', 'respond'],
      };
  }
}
