import type { FrameData, FrameDraft } from '../../streams/frame.schema.ts';
import type { ChildRun } from './child-rows.ts';

/** A child as its parent's stream identifies it. */
export type NamedChild = Pick<ChildRun, 'id' | 'agentId' | 'agentRevisionId' | 'parentToolCallId' | 'status'>;

/** Returns the frame about a child in its parent's stream; `summary` and `usage` are set when the child ends. */
export function subAgentFrame(
  child: NamedChild,
  phase: FrameData<'sub_agent'>['phase'],
  { summary = null, usage = null }: Partial<Pick<FrameData<'sub_agent'>, 'summary' | 'usage'>> = {},
): FrameDraft {
  return {
    type: 'sub_agent',
    data: {
      child_run_id: child.id,
      tool_call_id: child.parentToolCallId ?? child.id,
      agent_id: child.agentId,
      agent_revision_id: child.agentRevisionId,
      phase,
      status: child.status,
      summary,
      usage,
    },
  };
}
