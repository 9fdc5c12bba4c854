import { sql } from 'kysely';
import { literal, now } from '../../expressions.ts';
import { insertFrom } from '../../insert-from.ts';
import { jsonb, jsonText, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { ContentBlock } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { queued } from '../live.ts';
import type { RunState } from '../run-state.ts';
import type { RunInput } from '../read/run-view.ts';

interface RunPlace {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly conversationId: string;
  readonly runId: string;
}

function rowScopeOf(run: RunState): RunPlace {
  return { organizationId: run.organization_id, workspaceId: run.workspace_id, conversationId: run.conversation_id, runId: run.id };
}

/** The position before the input, which begins at 0. */
const place = literal(-1);

interface NewPassages extends RunPlace {
  readonly id: string;
  readonly turn: number;
  readonly content: JsonText<ContentBlock[]>;
}

const addPassages = prepared(({ content, ...values }: ParametersOf<NewPassages>) =>
  query
    .with('added', (of) =>
      of
        .insertInto('messages')
        .values({
          ...values,
          pos: place,
          role: 'system',
          origin: 'system',
          content: jsonb(content),
          toolCallIds: sql<string[]>`'{}'`,
          state: 'pending',
          attempt: 1,
          createdAt: now,
        })
        .onConflict((conflict) => conflict.doNothing())
        .returning(['id', 'content']),
    )
    .selectFrom('added')
    .select(['added.id', 'added.content'])
    .unionAll(
      query.selectFrom('messages as m').select(['m.id', 'm.content']).where('m.runId', '=', values.runId).where('m.pos', '=', place),
    ),
);

/** Writes the system message before a run's input, at most once per run. Returns the stored message. */
export function storePassages(
  tx: TenantTransaction,
  run: RunState,
  { id, turn, content }: { readonly id: string; readonly turn: number; readonly content: ContentBlock[] },
) {
  return row(tx.em, addPassages({ ...rowScopeOf(run), id, turn, content: jsonText(content) }));
}

interface WholeInput {
  readonly runId: string;
  readonly input: JsonText<RunInput>;
  readonly content: JsonText<ContentBlock[]>;
}

const replaceInput = prepared(({ runId, input, content }: ParametersOf<WholeInput>) =>
  query
    .with('asked', (of) =>
      of
        .updateTable('messages')
        .set({ content: jsonb(content) })
        .where('id', '=', ({ selectFrom }) =>
          selectFrom('messages as m')
            .select('m.id')
            .where('m.runId', '=', runId)
            .where('m.role', '=', literal('user'))
            .where('m.state', '=', literal('pending'))
            .orderBy('m.pos', 'desc')
            .limit(literal(1)),
        ),
    )
    .updateTable('runs')
    .set({ input: jsonb(input), updatedAt: now })
    .where('id', '=', runId)
    .where('status', '=', queued),
);

/** Replaces the whole input of a queued run. */
export async function writeWhole(
  tx: TenantTransaction,
  runId: string,
  { input, content }: { readonly input: RunInput; readonly content: ContentBlock[] },
): Promise<void> {
  await change(tx.em, replaceInput({ runId, input: jsonText(input), content: jsonText(content) }));
}

const addInput = prepared(
  ({ content, ...values }: ParametersOf<RunPlace & { readonly id: string; readonly content: JsonText<ContentBlock[]> }>) =>
    query.insertInto('run_inputs').values({ ...values, content: jsonb(content), readAtStep: literal(null), createdAt: now }),
);

/** Stores a message for the next model call of a run, or of a later run in its conversation. */
export async function insertInput(
  tx: TenantTransaction,
  run: RunState,
  { id, content }: { readonly id: string; readonly content: ContentBlock[] },
): Promise<void> {
  await change(tx.em, addInput({ ...rowScopeOf(run), id, content: jsonText(content) }));
}

const takeInputs = prepared((p: ParametersOf<RunPlace & { readonly turn: number; readonly step: number }>) =>
  query
    .with('unread', (of) =>
      of
        .updateTable('run_inputs')
        .set({ readAtStep: p.step })
        .where('conversationId', '=', p.conversationId)
        .where('readAtStep', 'is', null)
        .returning(['id', 'content', 'createdAt']),
    )
    .with('placed', (of) =>
      insertFrom('messages', of.selectFrom('unread as u'), ({ ref }) => ({
        id: ref('u.id'),
        organizationId: p.organizationId,
        workspaceId: p.workspaceId,
        conversationId: p.conversationId,
        runId: p.runId,
        turn: p.turn,
        pos: sql<number>`coalesce((select max(m.pos) + 1 from messages m where m.run_id = ${p.runId}), 0) + (row_number() over (order by u.id))::int - 1`,
        role: literal('user'),
        origin: literal('user'),
        content: ref('u.content'),
        state: literal('pending'),
        attempt: literal(1),
        createdAt: ref('u.createdAt'),
      })),
    )
    .selectFrom('unread')
    .select(['unread.id', 'unread.content'])
    .orderBy('unread.id'),
);

/** Turns the unread inputs of a run's conversation into messages of the run, after its existing ones; returns them. */
export function takeUnread(tx: TenantTransaction, run: RunState, step: number) {
  return rows(tx.em, takeInputs({ ...rowScopeOf(run), turn: run.turn_no ?? 0, step }));
}
