import { type PinnedSkill, readLoadable, readPinnedSkills, type LoadableText } from '../../db/skills/run-skills.ts';
import { lendSkillFile } from '../../db/skills/skill-files.ts';
import { recordSkillUse, type LoadingRun } from '../../db/skills/skill-uses.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';

export interface LoadedSkill {
  /** The skills that the run may load. */
  readonly pins: readonly PinnedSkill[];
  /** Null: none of them has the slug. */
  readonly pin: PinnedSkill | null;
  /** Null: it can no longer be loaded. */
  readonly text: LoadableText | null;
}

/** Returns a skill that a run has pinned, by its slug. Counts its loading once per run. */
export async function loadPinnedSkill(tx: Pick<TenantTransaction, 'em'>, run: LoadingRun, slug: string): Promise<LoadedSkill> {
  const pins = (await readPinnedSkills(tx, run.id))?.skills ?? [];
  const pin = pins.find((other) => other.slug === slug) ?? null;
  const text = pin && (await readLoadable(tx, pin));
  if (!pin || !text?.isOpen) return { pins, pin, text: null };

  await recordSkillUse(tx, run, [pin]);
  return { pins, pin, text };
}

/** Lets a run read a file of a skill that it has loaded. Returns false when the file no longer exists, or must not be used. */
export async function lendFile(tx: Pick<TenantTransaction, 'em'>, runId: string, attachmentId: string): Promise<boolean> {
  return lendSkillFile(tx, runId, attachmentId);
}
