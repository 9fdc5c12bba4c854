import { setTimeout as delay } from 'node:timers/promises';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import type { ModelCall } from '../../fakes/model-server.ts';
import type { Effect } from '../../fakes/tool-server.ts';
import type { ProcessName, Stack } from '../../support/stack.ts';
import type { TestTenant } from '../../support/tenant.ts';
import type {
  AlertFact,
  AnswerFact,
  ApprovalFact,
  CallFact,
  Evidence,
  InputFact,
  Leftovers,
  LedgerFact,
  MessageFact,
  ModelCallFact,
  DeliveryFact,
  NoticeFact,
  RunFact,
  RunViewFact,
  StepFact,
  WindowFact,
} from './evidence.ts';
import { markersIn, type ClientRecord, type Seen } from './record.ts';
import { watch } from './watch.ts';

export interface Sources {
  readonly stack: Stack;
  readonly tenant: TestTenant;
  readonly client: ClientRecord;
  readonly effects: readonly Effect[];
  /** See `Evidence.arrived`. */
  readonly arrived?: readonly string[];
  /** See `Evidence.answered`. */
  readonly answered?: readonly string[];
  readonly modelCalls: readonly ModelCall[];
  readonly kills?: ReadonlyMap<string, number>;
  readonly workersEnded?: number;
  /** Processes that are asked for views and replays, in turn. */
  readonly names: readonly ProcessName[];
  /** Of every so many runs one is asked for and replayed; all when absent. */
  readonly oneOf?: number;
}

/** A full machine may answer 503 now and then: a client asks again. */
async function surelyRead(stack: Stack, id: string, by: { readonly process: ProcessName; readonly credential: string }) {
  for (let tries = 1; ; tries++) {
    const answer = await stack.request('GET', `/runs/${id}`, by);
    if (answer.status !== 503 || tries === 20) return answer;
    await delay(500);
  }
}

/** Reads everything once all is quiet. */
export async function collect(sources: Sources): Promise<Evidence> {
  const { stack, tenant, client } = sources;
  const found = await readRows(stack, tenant.organizationId);
  const archives = await readArchives(stack, tenant.organizationId);
  const asked = found.runs
    .filter((_, n) => n % (sources.oneOf ?? 1) === 0)
    .map((run, n) => ({ id: run.id, process: sources.names[n % sources.names.length] ?? 'api' }) as const);
  const views = new Map<string, RunViewFact | null>();
  const replays: Seen[] = [];
  for (const part of inParts(asked, 10)) {
    await Promise.all(
      part.map(async ({ id, process }) => {
        const credential = tenant.serviceKey.plaintext;
        const answer = await surelyRead(stack, id, { process, credential });
        views.set(id, answer.status === 200 ? answer.body : null);
        const middle = Math.floor((archives.get(id)?.length ?? 0) / 2);
        replays.push(...(await Promise.all([0, middle].map((afterSeq) => replay(stack, id, { process, credential, afterSeq })))));
      }),
    );
  }
  return {
    client,
    ...found,
    leftovers: await leftoversOf(stack, tenant.organizationId),
    archives,
    views,
    replays,
    effects: sources.effects,
    arrived: sources.arrived ?? [],
    answered: sources.answered ?? [],
    modelCalls: sources.modelCalls.map(toModelCall),
    kills: sources.kills ?? new Map(),
    workersEnded: sources.workersEnded ?? 0,
  };
}

/** What nobody may be left waiting for. */
export async function leftoversOf(stack: Stack, organizationId: string): Promise<Leftovers> {
  const [left] = await sweep(stack.db, (em) =>
    rows<Omit<Leftovers, 'openWorkflows'>>(
      em,
      `select (select count(*)::int from runs where organization_id = ? and finished_at is null) as "liveRuns",
              (select count(*)::int from outbox where organization_id = ? and sent_at is null) as "unsentOutbox",
              (select count(*)::int from conversations where organization_id = ? and (active_run_id is not null or queue_length <> 0)) as "heldConversations",
              (select count(*)::int from run_stream_scopes where organization_id = ?) as "openScopes",
              (select count(*)::int from budget_holds where organization_id = ? and state = 'held') as "heldBudgets",
              (select count(*)::int from alert_deliveries where organization_id = ? and target ->> 'kind' = 'webhook' and status in ('queued', 'failed')) as "waitingNotices",
              (select count(*)::int from webhook_deliveries where organization_id = ? and status = 'coalescing') as "openGroups",
              (select count(*)::int from events where organization_id = ? and fan_out = 'pending') as "openEvents",
              (select (select count(*) from outbound_callbacks where organization_id = ? and status = 'pending')
                    + (select count(*) from channel_outbound where organization_id = ? and state in ('pending', 'sending')))::int as "waitingAnswers",
              (select count(*)::int from schedules s where organization_id = ? and is_active and deleted_at is null and next_run_at is not null) as "dueSchedules"`,
      Array.from({ length: 11 }, () => organizationId),
    ),
  );
  if (!left) throw new Error('counting gave nothing');
  const { count } = await stack.temporal.client.workflow.count(
    `WorkflowType IN ('agentRun', 'delayedStart', 'cancelRuns') AND ExecutionStatus = 'Running'`,
  );
  return { ...left, openWorkflows: count };
}

async function replay(
  stack: Stack,
  runId: string,
  options: { readonly process: ProcessName; readonly credential: string; readonly afterSeq: number },
): Promise<Seen> {
  const { process, credential, afterSeq } = options;
  const watcher = watch(stack, runId, { wire: 'sse', names: [process], roams: null, afterSeq, credential });
  const timer = setTimeout(() => watcher.stop(), 20_000);
  await watcher.ended;
  clearTimeout(timer);
  return { ...watcher.seen, who: afterSeq === 0 ? 'replay' : `resume after ${afterSeq}` };
}

function readRows(
  stack: Stack,
  organizationId: string,
): Promise<
  Pick<
    Evidence,
    | 'runs'
    | 'steps'
    | 'calls'
    | 'messages'
    | 'approvals'
    | 'inputs'
    | 'ledger'
    | 'windows'
    | 'alerts'
    | 'notices'
    | 'answers'
    | 'deliveries'
  >
> {
  return sweep(stack.db, async (em) => {
    const read = <T>(sql: string) => rows<T>(em, sql, [organizationId]);
    return {
      runs: await read<RunFact>(
        `select id, conversation_id, root_run_id, parent_run_id, retry_of_run_id, trigger_id, finished_at, status, finish_reason, error, turn_no, input ->> 'text' as input_text,
                pending_approvals, exists (select from conversations c where c.active_run_id = r.id) as holds_conversation
           from runs r where organization_id = ? order by id`,
      ),
      steps: await read<StepFact>(
        'select run_id, step, kind, status, attempt, retries from run_steps where organization_id = ? order by run_id, step',
      ),
      calls: await read<CallFact>(
        `select id, run_id, slug, effect, is_idempotent, client_owned, gate, args, state, attempt, error, child_run_id
           from tool_calls where organization_id = ? order by run_id, step, pos`,
      ),
      messages: await read<MessageFact>(
        `select id, run_id, conversation_id, turn, pos, role, state, content::text as text, tool_call_ids, tool_call_id
           from messages where organization_id = ? order by conversation_id, turn, run_id, pos`,
      ),
      approvals: await read<ApprovalFact>(
        'select id, run_id, tool_call_id, reason, status, edited_args from approvals where organization_id = ? order by id',
      ),
      inputs: await read<InputFact>('select id, run_id, read_at_step from run_inputs where organization_id = ? order by id'),
      ledger: await read<LedgerFact>(
        `select run_id, call_key, provider_request_id, (input_tokens + cached_read_tokens + cached_write_tokens)::int as input,
                (output_tokens + reasoning_tokens)::int as output, estimated,
                coalesce(created_at > (select t.finished_at from runs r join runs t on t.id = r.root_run_id where r.id = u.run_id), false) as is_late
           from usage_entries u where organization_id = ? and kind = 'llm' order by run_id, call_key`,
      ),
      windows: await read<WindowFact>(
        `select coalesce(w.cap_key, w.period) as name, w.budget_id, w.budget_version, w.limit_amount::text as limit, w.is_enforced, w.spent::text as spent,
                w.reserved::text as reserved, l.sum::text as ledger, l.max::text as max_call,
                (select count(*)::int from approvals a where 'run:' || a.run_id = w.cap_key and a.reason = 'budget' and a.status = 'approved') as allowed
           from budget_windows w cross join lateral (
             select coalesce(sum(round(e.cost * w.fx_rate, 9)), 0) as sum, coalesce(max(e.cost * w.fx_rate), 0) as max from usage_entries e
              where e.workspace_id = w.workspace_id
                and case when w.cap_key is not null then 'run:' || e.run_id = w.cap_key else e.reserved_at >= w.window_start and e.reserved_at < w.window_end end) l
          where w.organization_id = ? order by w.id`,
      ),
      alerts: await read<AlertFact>(
        `select a.id, r.budget_id, a.severity, coalesce((
                  select jsonb_agg(n) from (select d.event, d.target_key, count(*)::int as times from alert_deliveries d where d.alert_id = a.id group by 1, 2) n), '[]') as notices
           from alerts a join alert_rules r on r.id = a.rule_id where a.organization_id = ? order by a.id`,
      ),
      answers: await sweepAnswers(em, organizationId),
      deliveries: await read<DeliveryFact>(
        'select delivery_key, status, error_code, error_reason, run_id from webhook_deliveries where organization_id = ? and delivery_key is not null',
      ),
      notices: await read<NoticeFact>(
        `select id, event, status from alert_deliveries where organization_id = ? and target ->> 'kind' = 'webhook' order by id`,
      ),
    };
  });
}

/** Callbacks, and parts of channels. */
function sweepAnswers(em: SqlEntityManager, organizationId: string): Promise<AnswerFact[]> {
  return rows<AnswerFact>(
    em,
    `select id, run_id, 'callback' as kind, status as state from outbound_callbacks where organization_id = ?
      union all select id, run_id, kind, state from channel_outbound where organization_id = ? order by 1`,
    [organizationId, organizationId],
  );
}

async function readArchives(stack: Stack, organizationId: string): Promise<Map<string, string[]>> {
  const chunks = await sweep(stack.db, (em) =>
    rows<{ run_id: string; frames: string[] }>(
      em,
      'select run_id, array_to_json(frames) as frames from run_frame_chunks where organization_id = ? order by run_id, first_seq',
      [organizationId],
    ),
  );
  const archives = new Map<string, string[]>();
  for (const { run_id: runId, frames } of chunks) archives.set(runId, [...(archives.get(runId) ?? []), ...frames]);
  return archives;
}

function toModelCall(call: ModelCall): ModelCallFact {
  const { requestId, outcome, promptTokens, completionTokens } = call;
  const messages = (call.body['messages'] ?? []) as readonly { readonly role: string; readonly content: unknown }[]; // a request of the product
  const asked = messages.filter((message) => message.role === 'user').map((message) => JSON.stringify(message.content));
  return { requestId, markers: markersIn(asked.join('\n')), outcome, promptTokens, completionTokens };
}

function inParts<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
}
