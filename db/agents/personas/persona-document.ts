import type { avatarPresets } from '../agent.entity.ts';
import type { BindingDraft, KnowledgeBinding, ModelSettings } from '../revisions/revision-document.ts';

export const instructionsModes = ['append', 'prepend', 'replace'] as const;
export type InstructionsMode = (typeof instructionsModes)[number];

/**
 * A persona as it is stored: complete, with defaults and resolved references. Its fields have their wire names, because it is shown as is. Whether it is
 * the default or active is stored in its row, since neither creates a new version.
 */
export interface PersonaDocument {
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly greeting: string | null;
  /** BCP 47 language tag. */
  readonly locale: string | null;
  readonly instructions: string;
  readonly instructions_mode: InstructionsMode;
  /** Replaces the revision's model; null keeps it. */
  readonly model: string | null;
  /** Fields that are set replace the revision's; null keeps them all. */
  readonly model_settings: Partial<ModelSettings> | null;
  /** Slugs of the tools that it may call; null: all tools of the revision. It only narrows. */
  readonly tools_allow: readonly string[] | null;
  /** Added to the revision's bases. */
  readonly knowledge: readonly KnowledgeBinding[];
  readonly avatar_preset: (typeof avatarPresets)[number] | null;
  readonly image_url: string | null;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A persona as an author sends it, before its references are resolved. */
export type PersonaDraft = Pick<PersonaDocument, 'slug' | 'name'> &
  Partial<Omit<PersonaDocument, 'slug' | 'name' | 'knowledge'>> & { readonly knowledge?: readonly BindingDraft<KnowledgeBinding>[] };

/** Returns the complete document of a draft. */
export function completePersona(draft: PersonaDraft, knowledge: readonly KnowledgeBinding[]): PersonaDocument {
  return {
    slug: draft.slug,
    name: draft.name,
    description: draft.description ?? null,
    greeting: draft.greeting ?? null,
    locale: draft.locale ?? null,
    instructions: draft.instructions ?? '',
    instructions_mode: draft.instructions_mode ?? 'append',
    model: draft.model ?? null,
    model_settings: draft.model_settings ?? null,
    tools_allow: draft.tools_allow ?? null,
    knowledge,
    avatar_preset: draft.avatar_preset ?? null,
    image_url: draft.image_url ?? null,
    attributes: draft.attributes ?? {},
  };
}
