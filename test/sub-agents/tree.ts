import { refusalOf, gateOf } from '../../activities/tools/calls/refusal.ts';
import { newId } from '../../db/ids.ts';
import { argsHashOf } from '../../db/runs/calls/args-hash.ts';
import { beginRun } from '../../domain/runs/start/begin-run.ts';
import type { CallState } from '../../db/runs/calls/call-state.ts';
import { openModelStep } from '../../domain/runs/steps/model-steps.ts';
import { openChild, type OpenedChild } from '../../domain/runs/children/open-child.ts';
import { storeModelStep } from '../../domain/runs/steps/store-step.ts';
import { rows } from '../../db/sql.ts';
import { appendFrames } from '../../db/streams/append.ts';
import { parseFrame } from '../../db/streams/frame-text.ts';
import { checkStream } from '../../db/streams/grammar.ts';
import { sweep, transact, workspaceTenant } from '../../db/transaction.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { makeAgent, openWorld, type World } from '../api/world.ts';
import { violationsOf } from '../streams/frame-validator.ts';
import { archivedFrames } from '../support/scenario.ts';
import type { TestTenant } from '../support/tenant.ts';
import type { CheckedCall } from '../../db/runs/steps/stored-step.ts';

/** Runs as their activities change them, without a worker: rows, frames and nothing else. */
export interface TreeWorld {
  readonly world: World;
  readonly tenant: TestTenant;
  as<R>(runId: string, work: (tx: TenantTransaction) => Promise<R>): Promise<R>;
  /** Starts a run over HTTP and begins it. */
  begin(agentId: string, more?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Lets the model ask for these calls in the next step of a begun run; gives their ids. */
  ask(runId: string, calls: readonly AskedCall[]): Promise<string[]>;
  open(runId: string, toolCallId: string): Promise<OpenedChild>;
  /** The same, begun; gives the child's id. */
  openAndBegin(runId: string, toolCallId: string): Promise<string>;
  one<R>(sql: string, params: readonly unknown[]): Promise<R>;
  frames(runId: string): Promise<ReturnType<typeof parseFrame>[]>;
  /** What breaks grammar or schemas in the streams of ended runs. */
  faults(runIds: readonly string[]): Promise<string[]>;
  close(): Promise<void>;
}

export interface AskedCall {
  readonly slug: string;
  readonly args: Record<string, unknown>;
  readonly gate?: CheckedCall['gate'];
}

const noTokens = { input: 10, output: 5, cached_read: 0, cached_write: 0, reasoning: 0 };

/** `given`: a world that is there already. */
export async function openTreeWorld(given?: World): Promise<TreeWorld> {
  const world = given ?? (await openWorld());
  const tenant = await world.tenant();
  const [workspaceId = ''] = tenant.workspaceIds;
  const { models } = world.api.deps;

  const as: TreeWorld['as'] = async (runId, work) => {
    const actor = { kind: 'agent_run' as const, id: runId, role: null, actingUserId: null, impersonationId: null };
    const place = workspaceTenant(tenant.organizationId, workspaceId);
    return (await transact(world.api.db, { tenant: place, actor, correlationId: newId() }, work)).value;
  };
  const begin = (runId: string) => as(runId, (tx) => beginRun(tx, runId, { model: models.resolve }));
  const judge = (call: CallState) => ({ refusal: refusalOf(call), gate: gateOf(call) });
  const open: TreeWorld['open'] = (runId, toolCallId) => as(runId, (tx) => openChild(tx, { runId, toolCallId, currency: 'USD', judge }));
  const one = async <R>(sql: string, params: readonly unknown[]): Promise<R> => {
    const [found] = await sweep(world.api.db, (em) => rows<R>(em, sql, params));
    if (found === undefined) throw new Error(`no row: ${sql}`);
    return found;
  };
  const frames: TreeWorld['frames'] = async (runId) => (await archivedFrames(world.api, runId)).map(parseFrame);

  return {
    world,
    tenant,
    as,
    open,
    one,
    frames,
    async begin(agentId, more = {}) {
      const made = await world.call(tenant.tokens.admin, 'POST', '/runs', { body: { agent_id: agentId, input: { text: 'Go.' }, ...more } });
      if (made.status !== 202) throw new Error(`createRun: ${made.status} ${JSON.stringify(made.body)}`);
      await begin(made.body.id);
      return made.body.id;
    },
    ask: (runId, calls) => as(runId, (tx) => storeCalls(tx, runId, calls)),
    async openAndBegin(runId, toolCallId) {
      const opened = await open(runId, toolCallId);
      if (opened.kind !== 'child') throw new Error(`no child was opened: ${opened.kind}`);
      await begin(opened.child.runId);
      return opened.child.runId;
    },
    async faults(runIds) {
      const told: string[] = [];
      for (const runId of runIds) {
        const stream = await frames(runId);
        told.push(...checkStream(stream, { runId }).map(({ seq, rule }) => `${runId} at ${seq}: ${rule}`));
        told.push(...stream.flatMap((frame) => violationsOf(frame)));
      }
      return told;
    },
    close: () => world.close(),
  };
}

/** An active agent of the world's tenant; `ask` is the name under which others ask it. */
export async function makeAsked({ world, tenant }: Pick<TreeWorld, 'world' | 'tenant'>, revision: Readonly<Record<string, unknown>> = {}) {
  const agent = await makeAgent(world, tenant.tokens.admin, {
    revision: { model: 'builtin/extractive', instructions: 'Answer.', ...revision },
  });
  return { ...agent, ask: `ask_${agent.slug}` } as { id: string; slug: string; active_revision: { id: string }; ask: string };
}

/** What a model step leaves in which the model asks for calls: one call of a model and its rows. */
async function storeCalls(tx: TenantTransaction, runId: string, asked: readonly AskedCall[]): Promise<string[]> {
  const last = await rows<{ step: number }>(tx.em, 'select coalesce(max(step), 0)::int as step from run_steps where run_id = ?', [runId]);
  const step = (last[0]?.step ?? 0) + 1;
  const opened = await openModelStep(tx, { runId, step });
  if (opened.kind !== 'open') throw new Error(`the step is ${opened.kind}`);
  const messageId = newId();
  const calls = asked.map(({ slug, args, gate }, pos): CheckedCall => {
    const tool = opened.tools.find((one) => one.slug === slug);
    return {
      toolCallId: newId(),
      messageId,
      toolId: tool?.toolId ?? null,
      slug,
      kind: tool?.kind ?? null,
      effect: tool?.effect ?? 'read',
      pos,
      providerCallId: `call-${pos}`,
      concurrency: tool?.concurrency ?? 'read',
      timeoutS: tool?.timeoutS ?? 60,
      responseMaxChars: tool?.responseMaxChars ?? 20_000,
      isIdempotent: false,
      args,
      argsHash: argsHashOf(args),
      critical: tool?.pin.gate === 'critical',
      clientOwned: tool?.clientOwned ?? false,
      gate: gate === undefined ? (tool?.pin.gate ?? null) : gate,
      refusal: null,
    };
  });
  const model = {
    model: 'builtin/extractive',
    provider: 'builtin',
    providerRequestId: null,
    isFree: true,
    tokens: noTokens,
    estimated: false,
  };
  await storeModelStep(
    tx,
    {
      runId,
      step,
      attempt: opened.attempt,
      messageId,
      model: model.model,
      stopReason: 'tool_calls',
      content: [],
      providerState: null,
      calls,
      followUp: null,
      firstTokenAt: null,
      usage: { ...model, currency: 'USD', reservedAt: new Date(), prices: [] },
    },
    (frames) =>
      appendFrames(tx, [
        {
          run: {
            runId,
            rootRunId: opened.run.root_run_id,
            parentRunId: opened.run.parent_run_id,
            organizationId: opened.run.organization_id,
            workspaceId: opened.run.workspace_id,
            path: opened.run.path,
          },
          scope: `s${step}`,
          attempt: opened.attempt,
          batch: 1,
          frames,
        },
      ]),
  );
  return calls.map(({ toolCallId }) => toolCallId);
}
