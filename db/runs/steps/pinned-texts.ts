import type { PromptSkill } from '../../agents/effective/instructions.ts';
import type { PersonaDocument } from '../../agents/personas/persona-document.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { Manifest } from '../start/manifest.ts';

/** Returns the texts that a manifest pins by version: the persona, and the skills that are always in the prompt. */
export async function readPinnedTexts(
  tx: TenantTransaction,
  { persona = null, skills = [] }: Manifest,
): Promise<{ persona: PersonaDocument | null; skills: PromptSkill[] }> {
  const always = skills.filter(({ mode }) => mode === 'always');
  const listed = (textOf: (skillId: string) => string | null) =>
    skills.map(({ skill_id, slug, description, mode }) => ({
      slug,
      description,
      text: mode === 'always' ? (textOf(skill_id) ?? '') : null,
    }));
  if (persona === null && always.length === 0) return { persona: null, skills: listed(() => null) };

  const found = await row<{ persona: PersonaDocument | null; texts: Record<string, string> | null }>(
    tx.em,
    `select (select v.document from persona_versions v where v.persona_id = ?::uuid and v.version = ?::int) as persona,
            (select jsonb_object_agg(s.skill_id, s.instructions) from skill_versions s
               join unnest(?::uuid[], ?::int[]) as pin (skill_id, version) on pin.skill_id = s.skill_id and pin.version = s.version) as texts`,
    [persona?.id ?? null, persona?.version ?? null, always.map(({ skill_id }) => skill_id), always.map(({ version }) => version)],
  );
  return { persona: found?.persona ?? null, skills: listed((skillId) => found?.texts?.[skillId] ?? null) };
}
