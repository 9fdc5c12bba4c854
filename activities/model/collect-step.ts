import { newId } from '../../db/ids.ts';
import { argsHashOf } from '../../db/runs/calls/args-hash.ts';
import { isQuestion, type RunTool } from '../../db/runs/start/manifest-tools.ts';
import { toolCallData, toolCallFrame, type CallIdentity } from '../../db/runs/run-frames.ts';
import type { StepError } from '../../db/runs/run-types.ts';
import type { FrameWriter } from '../../domain/streams/emitter.ts';
import type { ContentBlock } from '../../db/streams/frame-parts.schema.ts';
import type { CallApproval } from '../../workflows/contracts/runs/approvals.ts';
import type { TenantSchemas } from '../../ports/json/schema.ts';
import { parseJson, type JsonAnswer } from './prompt/json-answer.ts';
import { brokenArguments, inexactArgument } from './wire/plain-text.ts';
import { JsonDeltas } from './wire/json-deltas.ts';
import type { ModelEvent, ModelFinish } from './step.ts';
import { unnamedCall } from './wire/unnamed-call.ts';
import type { CheckedCall } from '../../db/runs/steps/stored-step.ts';

/** The result of a model step whose stream has ended well. */
export interface CollectedStep {
  readonly content: ContentBlock[];
  /** The text as it arrived. */
  readonly text: string;
  readonly calls: readonly CollectedCall[];
  /** The arguments of the result tool, when it was the only call; otherwise null. */
  readonly result: { readonly args: Record<string, unknown> | null; readonly argsText: string } | null;
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
  /** As the model wrote them. */
  argsText: string;
}

export interface StepSink {
  readonly writer: FrameWriter;
  /** The clock of the rows that are stored with the step. */
  readonly now: () => Date;
  readonly messageId: string;
  readonly step: number;
  readonly tools: readonly RunTool[];
  /** Slug of the tool that returns the final result; its arguments stream as the JSON of the answer. Null: there is none. */
  readonly resultTool: string | null;
  /** How the answer is to be JSON; text that is JSON streams as such. Null for an answer in words. */
  readonly json: JsonAnswer['mode'] | null;
}

/** What has been collected so far. */
interface Gathered {
  readonly blocks: Map<number, ContentBlock>;
  readonly calls: Map<number, CollectedCall>;
  /** Calls of the result tool by position. */
  readonly results: Map<number, ResultCall>;
  readonly json: Map<number, JsonDeltas>;
}

interface ResultCall {
  readonly index: number;
  args: Record<string, unknown> | null;
  argsText: string;
}

const maxArgsBytes = 200 * 1024;

/** Relays a model's events as frames while they arrive, and assembles the step from them. The loop waits for frames only when far too many are pending. */
export async function collectStep(events: AsyncIterable<ModelEvent>, sink: StepSink): Promise<CollectedStep> {
  const gathered: Gathered = { blocks: new Map(), calls: new Map(), results: new Map(), json: new Map() };
  const { calls, results } = gathered;
  let firstTokenAt: Date | null = null;

  for await (const event of events) {
    if (event.type === 'finish') {
      endJson(gathered, sink);
      const last = [...results.values()].at(-1);
      const result = last && calls.size === 0 ? { args: last.args, argsText: last.argsText } : null;
      return { content: contentOf(gathered), text: textOf(gathered), calls: [...calls.values()], result, finish: event, firstTokenAt };
    }
    firstTokenAt ??= sink.now();
    if (isCallEvent(event)) {
      if (results.has(event.pos) || isResultCall(event, sink)) takeResult(event, gathered, sink);
      else takeCall(event, calls, sink);
    } else takeBlock({ ...event, index: indexOf(event.index, gathered) }, gathered, sink);
    await sink.writer.room();
  }
  throw new Error('the model step ended without its finish');
}

/** Checks the calls of a step. Unknown tools, arguments that don't fit and used-up limits become results at once; nothing is executed for them. */
export async function checkCalls(collected: CollectedStep, schemas: TenantSchemas, limits: CallLimits): Promise<CheckedCall[]> {
  if (collected.finish.stopReason === 'max_output' || collected.finish.stopReason === 'refused') return [];
  const made = new Map(limits.made);
  let total = [...made.values()].reduce((sum, count) => sum + count, 0);

  const checks = collected.calls.map(async (call): Promise<CheckedCall> => {
    const given = { ...call.args, ...call.tool?.pin.preset };
    const isTooLong = Buffer.byteLength(JSON.stringify(given)) > maxArgsBytes;
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
  /** Number of calls that the run has made so far, by slug. */
  readonly made: ReadonlyMap<string, number>;
  /** Slugs of tools that have been approved in this run. */
  readonly approved: ReadonlySet<string>;
}

/** Returns why the call needs approval, as the run pinned it; later changes take effect when the call is claimed. */
function gateOf(tool: RunTool | null, approved: ReadonlySet<string>): CallApproval | null {
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
): Promise<StepError | null> {
  if (call.slug === unnamedCall)
    return stepError('invalid_arguments', 'The call names no tool. Call again, with the name of a tool.', null);
  if (call.tool === null) return stepError('tool_unavailable', 'There is no tool of this name.', 'unknown_tool');
  if (isOver) return stepError('tool_unavailable', 'The limit of calls is used up; answer with what you have.', 'max_calls');
  // The prompt shows `{}` in their place, since every provider requires an object.
  if (call.args === null || inexactArgument(call.argsText) !== null)
    return stepError('invalid_arguments', brokenArguments(call.argsText), null);
  if (isTooLong) return stepError('invalid_arguments', 'The arguments are too long.', 'too_long');

  const problems = await schemas.validate(call.tool.inputSchema, args);
  if (problems.length === 0) return null;
  const told = problems.slice(0, 5).map((problem) => `${problem.pointer || '/'} ${problem.message}`);
  return stepError('invalid_arguments', `The arguments do not fit the tool: ${told.join('; ')}`.slice(0, 1_000), null);
}

function stepError(code: string, message: string, reason: string | null): StepError {
  return { code, message, retryable: false, reason };
}

function isCallEvent(event: ModelEvent): event is CallEvent {
  return event.type === 'tool_started' || event.type === 'tool_args' || event.type === 'tool_call';
}

function isResultCall(event: CallEvent, { resultTool }: StepSink): boolean {
  return resultTool !== null && event.type !== 'tool_args' && event.slug === resultTool;
}

/** The arguments form a block of their own after the blocks that have arrived; later blocks follow it. */
function takeResult(event: CallEvent, { blocks, results }: Gathered, { writer, messageId, step }: StepSink): void {
  const taken = [...blocks.keys(), ...[...results.values()].map(({ index }) => index)];
  const result = results.get(event.pos) ?? { index: Math.max(-1, ...taken) + 1, args: null, argsText: '' };
  results.set(event.pos, result);
  if (event.type === 'tool_call') Object.assign(result, { args: event.args, argsText: event.argsText });
  if (event.type === 'tool_args') writer.delta({ messageId, step, index: result.index, block: 'json', delta: event.delta });
}

function indexOf(index: number, { results }: Gathered): number {
  return [...results.values()].reduce((at, result) => (at >= result.index ? at + 1 : at), index);
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
  if (event.type !== 'tool_call') return;
  call.args = event.args;
  call.argsText = event.argsText;
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
    argsText: '',
  };
}

function takeBlock(event: BlockEvent, gathered: Gathered, sink: StepSink): void {
  const { blocks } = gathered;
  const { writer, messageId, step } = sink;
  if (event.type === 'citation') {
    blocks.set(event.index, {
      type: 'citation',
      item_id: event.itemId ?? null,
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
  extend(blocks, event.index, event.type, event.delta);
  if (event.type === 'text' && sink.json !== null) {
    const json = gathered.json.get(event.index) ?? new JsonDeltas(sink.json === 'native');
    gathered.json.set(event.index, json);
    writeJson(event.index, { json, delta: json.push(event.delta) }, sink);
  } else writer.delta({ messageId, step, index: event.index, block: event.type, delta: event.delta });
}

function writeJson(index: number, { json, delta }: { json: JsonDeltas; delta: string }, { writer, messageId, step }: StepSink): void {
  if (delta !== '') writer.delta({ messageId, step, index, block: json.kind ?? 'text', delta });
}

function endJson({ json }: Gathered, sink: StepSink): void {
  for (const [index, deltas] of json) writeJson(index, { json: deltas, delta: deltas.end() }, sink);
}

function extend(blocks: Map<number, ContentBlock>, index: number, type: 'text' | 'refusal' | 'reasoning_summary', delta: string): void {
  const known = blocks.get(index);
  const text = known && 'text' in known ? known.text : '';
  blocks.set(index, { type, text: text + delta });
}

function textOf({ blocks }: Gathered): string {
  return inOrder(blocks)
    .map(([, block]) => (block.type === 'text' ? block.text : ''))
    .join('');
}

function inOrder(blocks: ReadonlyMap<number, ContentBlock>): [number, ContentBlock][] {
  return [...blocks.entries()].toSorted(([left], [right]) => left - right);
}

/** Returns the blocks in order. A text that streamed as JSON becomes a JSON block, if it is complete. */
function contentOf({ blocks, json }: Gathered): ContentBlock[] {
  return inOrder(blocks).map(([index, block]) => {
    const value = json.get(index)?.kind === 'json' && block.type === 'text' ? parseJson(block.text) : undefined;
    return value === undefined ? block : { type: 'json', value };
  });
}
