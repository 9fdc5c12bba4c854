import type { PinnedSkill } from '../runs/manifest.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { StoredReferenceDoc } from './reference-doc.ts';

/** Whose run loads skills, and where. */
export interface LoadingRun {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
}

/** The skills that a run may load; null when there is no such run. */
export async function readPinnedSkills(tx: Pick<TenantTransaction, 'em'>, runId: string): Promise<readonly PinnedSkill[] | null> {
  const found = await row<{ skills: readonly PinnedSkill[] | null }>(
    tx.em,
    "select manifest -> 'skills' as skills from runs where id = ?",
    [runId],
  );
  return found && (found.skills ?? []);
}

/** A pinned skill with its documents. `is_open` is read live: a skill that was retired, deleted or switched off loads nowhere. */
export interface LoadableText {
  readonly instructions: string;
  readonly reference_docs: readonly StoredReferenceDoc[];
  readonly is_open: boolean;
}

/** What a pinned skill says at its version; null when the version is not there. */
export function readLoadable(
  tx: Pick<TenantTransaction, 'em'>,
  pin: Pick<PinnedSkill, 'skill_id' | 'version'>,
): Promise<LoadableText | null> {
  return row<LoadableText>(
    tx.em,
    `select v.instructions, v.reference_docs, s.is_active and s.deleted_at is null and s.curation_state <> 'retired' as is_open
       from skill_versions v join skills s on s.id = v.skill_id where v.skill_id = ? and v.version = ?`,
    [pin.skill_id, pin.version],
  );
}

/**
 * Notes that a run has loaded skills: those that its prompt holds when it begins, others when the model asks. Each counts once a run, however
 * often it is loaded; the uses of platform rows are counted where they are read.
 */
export async function recordSkillUse(
  tx: Pick<TenantTransaction, 'em'>,
  run: LoadingRun,
  used: readonly Pick<PinnedSkill, 'skill_id' | 'version'>[],
): Promise<void> {
  if (used.length === 0) return;
  await rows(
    tx.em,
    `with used as (
       insert into skill_uses (run_id, skill_id, organization_id, workspace_id, version, created_at)
       select ?::uuid, pin.skill_id, ?::uuid, ?::uuid, pin.version, now() from unnest(?::uuid[], ?::int[]) as pin (skill_id, version)
       on conflict (run_id, skill_id) do nothing returning skill_id),
     counted as (select s.id from skills s join used on used.skill_id = s.id where s.organization_id = ?::uuid order by s.id for no key update of s)
     update skills s set use_count = s.use_count + 1, last_used_at = now() from counted where s.id = counted.id`,
    [run.id, run.organization_id, run.workspace_id, used.map((pin) => pin.skill_id), used.map((pin) => pin.version), run.organization_id],
  );
}
