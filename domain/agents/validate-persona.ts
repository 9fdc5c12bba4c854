import { completePersona, type PersonaDocument, type PersonaDraft } from '../../db/agents/personas/persona-document.ts';
import { atCreate, type RevisionProblem } from './revision-problems.ts';
import { readTargets, type RevisionScope } from '../../db/agents/revisions/revision-targets.ts';
import { bindKnowledge } from './validate-references.ts';
import type { RevisionChecks } from './validate-revision.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { Failure } from '../../workflows/contracts/failure.ts';

const optionsPointer = '/model_settings/provider_options';

/** Checks a complete persona: returns the document as it would be stored, and all problems. Pointers lie within the persona. */
export async function validatePersona(
  tx: Pick<TenantTransaction, 'em' | 'tenant' | 'actor'>,
  { rowScope, draft }: { readonly rowScope: RevisionScope; readonly draft: PersonaDraft },
  checks: RevisionChecks,
): Promise<{ document: PersonaDocument; problems: RevisionProblem[] }> {
  const targets = await readTargets(tx, rowScope, { knowledge: draft.knowledge });
  const knowledge = bindKnowledge(draft.knowledge ?? [], targets);
  const document = completePersona(draft, knowledge.bindings);
  const problems = [
    ...modelProblems(document, checks),
    ...(await templateProblems(document, checks)),
    ...localeProblems(document),
    ...knowledge.problems,
    ...sizeProblems(document),
  ];
  return { document, problems };
}

function modelProblems(document: PersonaDocument, checks: RevisionChecks): RevisionProblem[] {
  if (document.model === null) return [];
  const reasoning = document.model_settings?.reasoning ?? 'provider-default';
  const facts = checks.model(document.model, { hasTools: false, reasoning });
  if (!facts)
    return [
      atCreate('/model', {
        rule: 'reference',
        message: 'This deployment does not have this model; its operator configures models in LONGHAUL_MODEL_REGISTRY.',
        params: { kind: 'model', slug: document.model },
      }),
    ];
  const unknown = Object.keys(document.model_settings?.provider_options ?? {}).filter((key) => !facts.optionKeys.includes(key));
  return [
    ...facts.lacks.map((capability) =>
      atCreate('/model', { rule: 'capability', message: 'The model lacks a capability that the persona needs.', params: { capability } }),
    ),
    ...unknown.map((field) =>
      atCreate(optionsPointer, {
        rule: 'unknown_field',
        message: 'The provider of the model does not support this option.',
        params: { field },
      }),
    ),
  ];
}

async function templateProblems(document: PersonaDocument, checks: RevisionChecks): Promise<RevisionProblem[]> {
  if (!document.instructions.includes('{')) return [];
  try {
    await checks.template(document.instructions);
    return [];
  } catch (error) {
    if (error instanceof Failure) throw error; // it was not parsed at all
    // The parser's message quotes the template.
    return [atCreate('/instructions', { rule: 'template', message: 'The template cannot be parsed.' })];
  }
}

function localeProblems({ locale }: PersonaDocument): RevisionProblem[] {
  if (locale === null) return [];
  const wrong = [atCreate('/locale', { rule: 'format', message: 'must be a language tag (BCP 47)' })];
  try {
    return Intl.getCanonicalLocales(locale).length === 1 ? [] : wrong;
  } catch {
    return wrong;
  }
}

function sizeProblems(document: PersonaDocument): RevisionProblem[] {
  const isOver = (value: unknown, maxBytes: number) => Buffer.byteLength(JSON.stringify(value)) > maxBytes;
  return [
    ...(isOver(document.attributes, 16_384) ? [atCreate('/attributes', { rule: 'maxLength', message: 'Must be at most 16 KiB.' })] : []),
    ...(isOver(document.model_settings?.provider_options ?? {}, 4_096)
      ? [atCreate(optionsPointer, { rule: 'maxLength', message: 'Must be at most 4 KiB.' })]
      : []),
  ];
}
