import { sql } from 'kysely';
import type { PromptSkill } from '../../agents/effective/instructions.ts';
import type { PersonaDocument } from '../../agents/personas/persona-document.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { Manifest } from '../start/manifest.ts';

interface Pins {
  readonly personaId: string | null;
  readonly personaVersion: number | null;
  readonly skillIds: readonly string[];
  readonly skillVersions: readonly number[];
}

const pinnedTexts = prepared(({ personaId, personaVersion, skillIds, skillVersions }: ParametersOf<Pins>) => {
  const pins = sql<{ skillId: string; version: number }>`unnest(${skillIds}::uuid[], ${skillVersions}::int[])`;
  return query.selectNoFrom(({ selectFrom }) => [
    selectFrom('persona_versions as v')
      .select('v.document')
      .where('v.personaId', '=', personaId)
      .where('v.version', '=', personaVersion)
      .as('persona'),
    selectFrom('skill_versions as s')
      .innerJoin(pins.as<'pin'>(sql`pin (skill_id, version)`), (join) =>
        join.onRef('pin.skillId', '=', 's.skillId').onRef('pin.version', '=', 's.version'),
      )
      .select(({ ref }) => sql<Record<string, string> | null>`jsonb_object_agg(${ref('s.skillId')}, ${ref('s.instructions')})`.as('texts'))
      .as('texts'),
  ]);
});

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

  const found = await row(
    tx.em,
    pinnedTexts({
      personaId: persona?.id ?? null,
      personaVersion: persona?.version ?? null,
      skillIds: always.map(({ skill_id }) => skill_id),
      skillVersions: always.map(({ version }) => version),
    }),
  );
  return { persona: found?.persona ?? null, skills: listed((skillId) => found?.texts?.[skillId] ?? null) };
}
