import type { Beat, ScriptedRequest, ScriptStep } from './model-script.ts';

/** How one protocol puts an answer on the wire, as the texts of its stream. Made anew for each answer. */
export interface Wire {
  head(): string[];
  beat(beat: Beat): string[];
  tail(end: End): string[];
  error(error: Record<string, unknown>): string;
}

export interface End {
  readonly step: ScriptStep;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export function chatWire(request: ScriptedRequest): Wire {
  const chunk = (rest: object) =>
    sse({ id: `chatcmpl-${request.fingerprint.slice(0, 12)}`, object: 'chat.completion.chunk', created: 1, model: request.model, ...rest });
  const delta = (value: object) => [chunk({ choices: [{ index: 0, delta: value, finish_reason: null }] })];

  return {
    head: () => delta({ role: 'assistant' }),
    beat(beat) {
      switch (beat.kind) {
        case 'text':
          return delta({ content: beat.delta });
        case 'reasoning':
          return delta({ reasoning_content: beat.delta });
        case 'refusal':
          return delta({ refusal: beat.delta });
        case 'call_start':
          return delta({ tool_calls: [{ index: beat.pos, id: beat.id, type: 'function', function: { name: beat.name, arguments: '' } }] });
        default:
          return delta({ tool_calls: [{ index: beat.pos, function: { arguments: beat.delta } }] });
      }
    },
    tail: (end) => [
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: end.step.finish_reason ?? (end.step.tool_calls ? 'tool_calls' : 'stop') }] }),
      ...(end.step.usage === null ? [] : [chunk({ choices: [], usage: chatUsage(end) })]),
      'data: [DONE]\n\n',
    ],
    error: (error) => sse({ error }),
  };
}

export function chatUsage(end: End): Record<string, unknown> {
  return (
    end.step.usage ?? {
      prompt_tokens: end.promptTokens,
      completion_tokens: end.completionTokens,
      total_tokens: end.promptTokens + end.completionTokens,
    }
  );
}

/** The same answer in one piece. */
export function chatAnswer(request: ScriptedRequest, beats: readonly Beat[], end: End): object {
  const joined = (kind: Beat['kind']) =>
    beats
      .filter((beat) => beat.kind === kind)
      .map((beat) => ('delta' in beat ? beat.delta : ''))
      .join('') || null;
  const calls = beats.flatMap((beat) =>
    beat.kind === 'call_start'
      ? [
          {
            id: beat.id,
            type: 'function',
            function: {
              name: beat.name,
              arguments: beats.flatMap((other) => (other.kind === 'call_args' && other.pos === beat.pos ? [other.delta] : [])).join(''),
            },
          },
        ]
      : [],
  );
  const message = {
    role: 'assistant',
    content: joined('text'),
    reasoning_content: joined('reasoning'),
    refusal: joined('refusal'),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };

  return {
    id: `chatcmpl-${request.fingerprint.slice(0, 12)}`,
    object: 'chat.completion',
    created: 1,
    model: request.model,
    choices: [{ index: 0, message, finish_reason: end.step.finish_reason ?? (calls.length > 0 ? 'tool_calls' : 'stop') }],
    ...(end.step.usage === null ? {} : { usage: chatUsage(end) }),
  };
}

const responsesTypes = {
  text: 'response.output_text.delta',
  refusal: 'response.refusal.delta',
  reasoning: 'response.reasoning_summary_text.delta',
  call_args: 'response.function_call_arguments.delta',
};

/** The Responses protocol: each kind of beat in a row is one output item. */
export function responsesWire(request: ScriptedRequest): Wire {
  const id = `resp_${request.fingerprint.slice(0, 12)}`;
  let output = -1;
  let open: { kind: string; id: string; text: string; call?: { id: string; name: string } } | null = null;
  const event = (type: string, rest: object) => sse({ type, sequence_number: 0, ...rest });
  const item = (done: boolean) => {
    if (open?.call)
      return {
        type: 'function_call',
        id: open.id,
        call_id: open.call.id,
        name: open.call.name,
        arguments: done ? open.text : '',
        status: done ? 'completed' : 'in_progress',
      };
    if (open?.kind === 'reasoning')
      return { type: 'reasoning', id: open.id, encrypted_content: done ? `sealed-${open.text.length}` : null, summary: [] };
    return { type: 'message', id: open?.id, role: 'assistant', status: done ? 'completed' : 'in_progress', content: [] };
  };
  const finishItem = () => {
    const done = open ? [event('response.output_item.done', { output_index: output, item: item(true) })] : [];
    open = null;
    return done;
  };
  const startItem = (kind: string, call?: { id: string; name: string }) => {
    const before = finishItem();
    output += 1;
    open = { kind, id: `${kind}_${output}`, text: '', ...(call ? { call } : {}) };
    const summary =
      kind === 'reasoning'
        ? [
            event('response.reasoning_summary_part.added', {
              item_id: open.id,
              output_index: output,
              summary_index: 0,
              part: { type: 'summary_text', text: '' },
            }),
          ]
        : [];
    return [...before, event('response.output_item.added', { output_index: output, item: item(false) }), ...summary];
  };
  const envelope = (rest: object) => ({ id, object: 'response', created_at: 1, model: request.model, service_tier: null, ...rest });

  return {
    head: () => [
      event('response.created', { response: envelope({ status: 'in_progress' }) }),
      event('response.in_progress', { response: envelope({ status: 'in_progress' }) }),
    ],
    beat(beat) {
      if (beat.kind === 'call_start') return startItem(`call${beat.pos}`, { id: beat.id, name: beat.name });
      const kind = beat.kind === 'call_args' ? `call${beat.pos}` : beat.kind;
      const started = open?.kind === kind ? [] : startItem(kind);
      if (open) open.text += beat.delta;
      return [
        ...started,
        event(responsesTypes[beat.kind], {
          item_id: open?.id,
          output_index: output,
          content_index: 0,
          summary_index: 0,
          delta: beat.delta,
          logprobs: [],
        }),
      ];
    },
    tail(end) {
      const reason = end.step.finish_reason ?? null;
      const type = reason === null ? 'response.completed' : 'response.incomplete';
      return [
        ...finishItem(),
        event(type, {
          response: envelope({
            status: reason === null ? 'completed' : 'incomplete',
            incomplete_details: reason === null ? null : { reason },
            usage: blockUsage(end),
          }),
        }),
      ];
    },
    error: (error) => event('error', { code: error['code'] ?? error['type'] ?? null, message: error['message'] ?? 'failed', param: null }),
  };
}

/** The Messages protocol of Anthropic: each kind of beat in a row is one content block. */
export function messagesWire(request: ScriptedRequest): Wire {
  let index = -1;
  let open: string | null = null;
  const event = (type: string, rest: object) => `event: ${type}\n${sse({ type, ...rest })}`;
  const stop = () => {
    const signature =
      open === 'reasoning'
        ? [event('content_block_delta', { index, delta: { type: 'signature_delta', signature: `signed-${index}` } })]
        : [];
    const frames = open === null ? [] : [...signature, event('content_block_stop', { index })];
    open = null;
    return frames;
  };
  const start = (kind: string, block: object) => {
    const before = stop();
    index += 1;
    open = kind;
    return [...before, event('content_block_start', { index, content_block: block })];
  };

  return {
    head: () => [
      event('message_start', {
        message: {
          id: `msg_${request.fingerprint.slice(0, 12)}`,
          type: 'message',
          role: 'assistant',
          model: request.model,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: request.promptTokens, output_tokens: 1 },
        },
      }),
      event('ping', {}),
    ],
    beat(beat) {
      if (beat.kind === 'call_start') return start(`call${beat.pos}`, { type: 'tool_use', id: beat.id, name: beat.name, input: {} });
      if (beat.kind === 'call_args')
        return [event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: beat.delta } })];
      if (beat.kind === 'reasoning')
        return [
          ...(open === 'reasoning' ? [] : start('reasoning', { type: 'thinking', thinking: '', signature: '' })),
          event('content_block_delta', { index, delta: { type: 'thinking_delta', thinking: beat.delta } }),
        ];
      return [
        ...(open === 'text' ? [] : start('text', { type: 'text', text: '' })),
        event('content_block_delta', { index, delta: { type: 'text_delta', text: beat.delta } }),
      ];
    },
    tail(end) {
      const stopReason =
        end.step.finish_reason ?? (end.step.tool_calls ? 'tool_use' : end.step.refusal === undefined ? 'end_turn' : 'refusal');
      return [
        ...stop(),
        event('message_delta', { delta: { stop_reason: stopReason, stop_sequence: null }, usage: blockUsage(end) ?? { output_tokens: 0 } }),
        event('message_stop', {}),
      ];
    },
    error: (error) => event('error', { error: { type: 'api_error', message: 'failed', ...error } }),
  };
}

function blockUsage(end: End): Record<string, unknown> | null {
  return end.step.usage === undefined ? { input_tokens: end.promptTokens, output_tokens: end.completionTokens } : end.step.usage;
}

function sse(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
