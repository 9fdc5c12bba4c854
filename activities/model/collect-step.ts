import { newId } from '../../db/ids.ts';
import { argsHashOf } from '../../db/runs/args-hash.ts';
import { isQuestion, type RunTool } from '../../db/runs/manifest-tools.ts';
import { toolCallData, toolCallFrame, type CallIdentity } from '../../db/runs/run-frames.ts';
import type { CheckedCall } from '../../db/runs/store-step.ts';
import type { StepFault } from '../../db/runs/run-types.ts';
import type { FrameWriter } from '../../db/streams/emitter.ts';
import type { ContentBlock } from '../../db/streams/frame-parts.schema.ts';
import type { CallGate } from '../../workflows/contracts/approvals.ts';
import type { TenantSchemas } from '../../ports/json-schema.ts';
import type { ModelEvent, ModelFinish } from './step.ts';

/** What a model step gave, once its stream has ended well. */
export interface CollectedStep {
  readonly content: ContentBlock[];
  readonly calls: readonly CollectedCall[];
  /** What the result tool was called with, when its call came alone; null else. */
  readonly result: { readonly args: Record<string, unknown> | null } | null;
  readonly finish: ModelFinish;
  readonly firstTokenAt: Date | null;
}

interface CollectedCall extends CallIdentity {
  readonly pos: number;
  readonly providerCallId: string;
  readonly tool: RunTool | null;
  readonly critical: boolean;
  readonly clientOwned: boolean;
  args: Record<string, unknown> | null;
}

export interface StepSink {
  readonly writer: FrameWriter;
  readonly messageId: string;
  readonly step: number;
  readonly tools: readonly RunTool[];
  /** Slug of the tool that gives the final result; its calls are no frames. Null: there is none. */
  readonly resultTool: string | null;
}

const limitArgsBytes = 200 * 1024;

/** Relays a model's events as frames while they come and puts the whole together. The loop waits for frames only when far too many wait. */
export async function collectStep(events: AsyncIterable<ModelEvent>, sink: StepSink): Promise<CollectedStep> {
  const blocks = new Map<number, ContentBlock>();
  const calls = new Map<number, CollectedCall>();
  const results = new Map<number, Record<string, unknown> | null>();
  let firstTokenAt: Date | null = null;

  for await (const event of events) {
    if (event.type === 'finish') {
      const result = results.size > 0 && calls.size === 0 ? { args: [...results.values()].at(-1) ?? null } : null;
      return { content: contentOf(blocks), calls: [...calls.values()], result, finish: event, firstTokenAt };
    }
    firstTokenAt ??= new Date();
    if (isCallEvent(event)) {
      if (results.has(event.pos) || isResultCall(event, sink)) takeResult(event, results);
      else takeCall(event, calls, sink);
    } else takeBlock(event, blocks, sink);
    await sink.writer.room();
  }
  throw new Error('the model step ended without its finish');
}

/** Judges the calls of a step: unknown tools, arguments that don't fit and used-up limits are results already, nothing is executed for them. */
export async function checkCalls(collected: CollectedStep, schemas: TenantSchemas, limits: CallLimits): Promise<CheckedCall[]> {
  if (collected.finish.stopReason === 'max_output' || collected.finish.stopReason === 'refused') return [];
  const made = new Map(limits.made);
  let total = [...made.values()].reduce((sum, count) => sum + count, 0);

  const checks = collected.calls.map(async (call): Promise<CheckedCall> => {
    const given = { ...call.args, ...call.tool?.pin.preset };
    const isTooLong = Buffer.byteLength(JSON.stringify(given)) > limitArgsBytes;
    const args = call.args === null || isTooLong ? {} : given;
    const before = made.get(call.slug) ?? 0;
    const isOver = total >= limits.maxToolCalls || (call.tool?.pin.max_calls ?? Infinity) <= before;
    made.set(call.slug, before + 1);
    total += 1;
    return {
      toolCallId: call.toolCallId,
      messageId: call.messageId,
      toolId: call.toolId,
      slug: call.slug,
      kind: call.kind,
      effect: call.effect,
      pos: call.pos,
      providerCallId: call.providerCallId,
      concurrency: call.tool?.concurrency ?? 'read',
      timeoutS: call.tool?.timeoutS ?? 60,
      responseMaxChars: call.tool?.responseMaxChars ?? 20_000,
      isIdempotent: call.tool?.isIdempotent ?? false,
      args,
      argsHash: argsHashOf(args),
      critical: call.critical,
      clientOwned: call.clientOwned,
      gate: gateOf(call.tool, limits.approved),
      refusal: await refusalOf(call, args, { isOver, isTooLong }, schemas),
    };
  });
  return Promise.all(checks);
}

export interface CallLimits {
  readonly maxToolCalls: number;
  /** Calls that the run has made so far, by slug. */
  readonly made: ReadonlyMap<string, number>;
  /** Slugs of tools that people have approved in this run. */
  readonly approved: ReadonlySet<string>;
}

/** Why people are asked first, as the run pinned it: what has come since is found at the claim. */
function gateOf(tool: RunTool | null, approved: ReadonlySet<string>): CallGate | null {
  if (tool === null) return null;
  if (isQuestion(tool) && !tool.clientOwned) return 'input';
  const gate = tool.pin.gate ?? null;
  return gate === 'first' && approved.has(tool.slug) ? null : gate;
}

async function refusalOf(
  call: CollectedCall,
  args: Record<string, unknown>,
  { isOver, isTooLong }: { isOver: boolean; isTooLong: boolean },
  schemas: TenantSchemas,
): Promise<StepFault | null> {
  if (call.tool === null) return fault('tool_unavailable', 'There is no tool of this name.', 'unknown_tool');
  if (isOver) return fault('tool_unavailable', 'The limit of calls is used up; answer with what you have.', 'max_calls');
  if (call.args === null) return fault('invalid_arguments', 'The arguments are not a JSON object.', null);
  if (isTooLong) return fault('invalid_arguments', 'The arguments are too long.', 'too_long');

  const problems = await schemas.validate(call.tool.inputSchema, args);
  if (problems.length === 0) return null;
  const told = problems.slice(0, 5).map((problem) => `${problem.pointer || '/'} ${problem.message}`);
  return fault('invalid_arguments', `The arguments do not fit the tool: ${told.join('; ')}`.slice(0, 1_000), null);
}

function fault(code: string, message: string, reason: string | null): StepFault {
  return { code, message, retryable: false, reason };
}

function isCallEvent(event: ModelEvent): event is CallEvent {
  return event.type === 'tool_started' || event.type === 'tool_args' || event.type === 'tool_call';
}

function isResultCall(event: CallEvent, { resultTool }: StepSink): boolean {
  return resultTool !== null && event.type !== 'tool_args' && event.slug === resultTool;
}

function takeResult(event: CallEvent, results: Map<number, Record<string, unknown> | null>): void {
  if (event.type !== 'tool_args') results.set(event.pos, event.type === 'tool_call' ? event.args : null);
}

type CallEvent = Extract<ModelEvent, { type: 'tool_started' | 'tool_args' | 'tool_call' }>;
type BlockEvent = Exclude<ModelEvent, CallEvent | ModelFinish>;

function takeCall(event: CallEvent, calls: Map<number, CollectedCall>, { writer, messageId, tools }: StepSink): void {
  const known = calls.get(event.pos);
  if (event.type === 'tool_args') {
    if (known) writer.argsDelta(toolCallData(known), event.delta);
    return;
  }
  const call = known ?? startedCall(event, messageId, tools);
  if (!known) {
    calls.set(event.pos, call);
    writer.frame(toolCallFrame(call, { phase: 'started' }));
  }
  if (event.type === 'tool_call') call.args = event.args;
}

function startedCall(
  event: { readonly pos: number; readonly providerCallId: string; readonly slug: string },
  messageId: string,
  tools: readonly RunTool[],
): CollectedCall {
  const tool = tools.find((one) => one.slug === event.slug) ?? null;
  return {
    toolCallId: newId(),
    messageId,
    toolId: tool?.toolId ?? null,
    slug: event.slug.slice(0, 120).toWellFormed(),
    kind: tool?.kind ?? null,
    effect: tool?.effect ?? 'read',
    critical: tool !== null && (tool.critical || tool.pin.gate === 'critical'),
    clientOwned: tool?.clientOwned ?? false,
    pos: event.pos,
    providerCallId: event.providerCallId,
    tool,
    args: null,
  };
}

function takeBlock(event: BlockEvent, blocks: Map<number, ContentBlock>, { writer, messageId, step }: StepSink): void {
  if (event.type === 'citation') {
    blocks.set(event.index, {
      type: 'citation',
      item_id: null,
      title: (event.title ?? '').slice(0, 400).toWellFormed(),
      quote: (event.quote ?? '').slice(0, 4_000).toWellFormed(),
      url: event.url,
    });
    return;
  }
  if (event.type === 'reasoning') {
    writer.reasoning({ messageId, step, index: event.index, kind: event.kind, delta: event.delta });
    if (event.kind === 'summary') extend(blocks, event.index, 'reasoning_summary', event.delta);
    return;
  }
  writer.delta({ messageId, step, index: event.index, block: event.type, delta: event.delta });
  extend(blocks, event.index, event.type, event.delta);
}

function extend(blocks: Map<number, ContentBlock>, index: number, type: 'text' | 'refusal' | 'reasoning_summary', delta: string): void {
  const known = blocks.get(index);
  const text = known && 'text' in known ? known.text : '';
  blocks.set(index, { type, text: text + delta });
}

function contentOf(blocks: Map<number, ContentBlock>): ContentBlock[] {
  return [...blocks.entries()].toSorted(([left], [right]) => left - right).map(([, block]) => block);
}
