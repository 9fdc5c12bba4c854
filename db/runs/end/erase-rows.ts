import { isTerminal, type RunStatus } from '../../../workflows/contracts/runs/runs.ts';
import { unlinkedHours } from '../../attachments/attachments.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

interface TreeRow {
  readonly id: string;
  readonly status: RunStatus;
  readonly parent_run_id: string | null;
}

/** Locks the run and, for a root, all runs below it, by ascending id. */
export function lockTree(tx: TenantTransaction, runId: string): Promise<TreeRow[]> {
  return rows<TreeRow>(
    tx.em,
    `select r.id, r.status, r.parent_run_id from runs r where (r.id = ? or r.root_run_id = ?) and r.deleted_at is null order by r.id for no key update`,
    [runId, runId],
  );
}

/**
 * Locks the trees of several roots, all at once and by ascending id, so that a transaction that changes many runs holds no budget window while it waits for
 * a run. Returns the ids of all runs in trees without a live run.
 */
export async function lockEndedTrees(tx: TenantTransaction, rootIds: readonly string[]): Promise<string[]> {
  const locked = await rows<{ id: string; root: string; status: RunStatus }>(
    tx.em,
    `select r.id, r.root_run_id as root, r.status from runs r where r.root_run_id = any (?::uuid[]) and r.deleted_at is null order by r.id for no key update`,
    [[...rootIds]],
  );
  const living = new Set(locked.filter(({ status }) => !isTerminal(status)).map(({ root }) => root));
  return locked.filter(({ root }) => !living.has(root)).map(({ id }) => id);
}

// Chunks and scopes are deleted with their stream. Keys between these tables are checked at the end of the statement.
const eraseSql = `
  with erased as (select unnest(?::uuid[]) as run_id),
  approvals_gone as (delete from approvals where run_id in (select run_id from erased)),
  inputs_gone as (delete from run_inputs where run_id in (select run_id from erased)),
  outputs_gone as (delete from tool_outputs where run_id in (select run_id from erased)),
  calls_gone as (delete from tool_calls where run_id in (select run_id from erased)),
  steps_gone as (delete from run_steps where run_id in (select run_id from erased)),
  messages_gone as (delete from messages where run_id in (select run_id from erased)),
  tokens_gone as (delete from stream_tokens where run_id in (select run_id from erased)),
  streams_gone as (delete from run_streams where run_id in (select run_id from erased)),
  unlinked as (delete from attachment_links where owner_kind = 'run' and owner_id in (select run_id from erased) returning id, attachment_id),
  -- Files that tools made are content of the run; files that people uploaded belong to them and stay for a day.
  loose as (
    update attachments a set expires_at = case when a.created_by ->> 'kind' = 'agent' then now() else now() + make_interval(hours => ?::int) end
     where a.id in (select attachment_id from unlinked)
       and not exists (select from attachment_links l where l.attachment_id = a.id and l.id not in (select id from unlinked))
  ),
  replies_gone as (delete from channel_outbound where run_id in (select run_id from erased)),
  said as (
    update channel_messages set text = '', sender_name = null, attachments = '[]', token_enc = null where run_id in (select run_id from erased)
  ),
  votes as (update feedback set comment = null, correction = null, tags = '{}' where run_id in (select run_id from erased)),
  results as (update evaluation_results set reason = null, votes = '{}' where run_id in (select run_id from erased) returning id, evaluation_run_id),
  scores as (update evaluation_scores set reason = null, details = '{}' where result_id in (select id from results)),
  answers_gone as (delete from review_answers where run_id in (select run_id from erased)),
  commands_emptied as (update review_commands set argument = null, reply = null, reason = null where run_id in (select run_id from erased)),
  -- A finding keeps its fingerprint, so that it is never reported twice.
  findings_emptied as (
    update review_findings set title = '', scenario = '', evidence = '', suggestion = null where first_run_id in (select run_id from erased)
  ),
  -- The file with all results of an evaluation includes those of the run, so it is deleted.
  exports as (
    delete from attachment_links where owner_kind = 'evaluation' and owner_id in (select evaluation_run_id from results) returning attachment_id
  ),
  exports_loose as (update attachments set expires_at = now() where id in (select attachment_id from exports)),
  -- A conversation with no run left loses its session key, subject and persona.
  nameless as (
    update conversations c set session_key = null, subject_kind = null, subject_id = null, persona_slug = null
     where c.id in (select r.conversation_id from runs r where r.id in (select run_id from erased))
       and not exists (select from runs o where o.conversation_id = c.id and o.deleted_at is null and o.id not in (select run_id from erased))
  ),
  occurrences as (update schedule_occurrences set rendered = null where run_id in (select run_id from erased)),
  deliveries as (
    update webhook_deliveries set body = null, headers = '{}', query = '{}', warnings = '[]', delivery_key = null where run_id in (select run_id from erased)
  ),
  events_emptied as (
    update events set payload = '{}', subject = null, dedupe_key = null
     where id in (select e.id from events e where e.cause_run_id in (select run_id from erased)
                  union all select d.event_id from webhook_deliveries d where d.run_id in (select run_id from erased) and d.event_id is not null
                  union all select m.event_id from event_matches m where m.run_id in (select run_id from erased))
  ),
  callbacks as (
    update outbound_callbacks set status = case status when 'pending' then 'stopped' else status end, next_attempt_at = null
     where run_id in (select run_id from erased)
  )
  update runs set input = '{}', output = null, error = null, warnings = '[]', metadata = '{}', manifest = null, session_key = null, subject_kind = null,
         subject_id = null, pending_approvals = 0, deleted_at = now(), updated_at = now()
   where id in (select run_id from erased)`;

/** Erases the content of these runs and of the rows that belong to them; `eraseSql` lists it. The runs' own rows stay. */
export async function eraseRuns(tx: TenantTransaction, runIds: readonly string[]): Promise<void> {
  await rows(tx.em, eraseSql, [[...runIds], unlinkedHours]);
}
