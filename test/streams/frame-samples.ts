import { newId } from '../../db/ids.ts';
import type { FrameData, FrameDraft } from '../../db/streams/frame.schema.ts';

const noUsage = {
  model_calls: 0,
  tokens: { input: 0, output: 0, cached_read: 0, cached_write: 0, reasoning: 0 },
  cost_amount: '0.00',
  currency: 'USD',
  estimated: false,
};

export function status(data: Partial<FrameData<'run.status'>>): FrameDraft {
  return {
    type: 'run.status',
    data: {
      status: 'running',
      previous: 'running',
      waiting_on: null,
      waiting_until: null,
      queue_position: null,
      reason: null,
      attempt: 1,
      retry: null,
      discarded_message_ids: [],
      ...data,
    },
  };
}

export function queued(): FrameDraft {
  return status({ status: 'queued', previous: null });
}

export function started(): FrameDraft {
  return {
    type: 'run.started',
    data: {
      agent_id: newId(),
      agent_revision_id: newId(),
      persona_slug: null,
      session_key: null,
      subject: null,
      trigger_id: null,
      tool_call_id: null,
      source: 'api',
      input_summary: 'Hello',
      depth: 0,
      protocol: 2,
      limits: {
        max_steps: 50,
        max_duration_s: 3600,
        max_output_tokens: null,
        max_cost: null,
        max_children: 20,
        max_depth: 3,
        approval_ttl_s: 86400,
        on_expiry: 'deny',
        on_budget: 'fail',
      },
    },
  };
}

export function finished(lastSeq: number, data: Partial<FrameData<'run.finished'>> = {}): FrameDraft {
  return {
    type: 'run.finished',
    data: {
      status: 'succeeded',
      finish_reason: 'stop',
      output: { text: 'Done', json: null, attachments: [], truncated: false },
      error: null,
      usage: { own: noUsage, subtree: noUsage },
      started_at: new Date().toISOString(),
      finished_at: new Date().toISOString(),
      steps: 1,
      last_seq: lastSeq,
      ...data,
    },
  };
}

export function completed(messageId: string, text: string, data: Partial<FrameData<'message.completed'>> = {}): FrameDraft {
  return {
    type: 'message.completed',
    data: {
      message_id: messageId,
      role: 'assistant',
      step: 1,
      model: 'm',
      stop_reason: 'stop',
      content: [{ type: 'text', text }],
      tool_call_ids: [],
      origin: 'model',
      truncated: false,
      ref: null,
      ...data,
    },
  };
}

export function call(callId: string, messageId: string, data: Partial<FrameData<'tool.call'>>): FrameDraft {
  return {
    type: 'tool.call',
    data: {
      tool_call_id: callId,
      message_id: messageId,
      tool_id: newId(),
      slug: 'search',
      kind: 'http',
      effect: 'read',
      critical: false,
      client_owned: false,
      phase: 'ready',
      ...data,
    },
  };
}

export function result(callId: string, output: unknown = 'found'): FrameDraft {
  return {
    type: 'tool.result',
    data: {
      tool_call_id: callId,
      status: 'succeeded',
      output,
      output_type: 'text',
      truncated: false,
      cached: false,
      total_chars: 5,
      ref: null,
      error: null,
      duration_ms: 3,
    },
  };
}

export function note(message: string): FrameDraft {
  return { type: 'error', data: { code: 'upstream_failed', message, retryable: true, fatal: false, source: 'tool', detail_ref: null } };
}
