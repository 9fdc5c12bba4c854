import { readBoundRows } from '../../db/agents/effective/bound-rows.ts';
import {
  effectiveConfiguration,
  hashOfConfiguration,
  promptTokens,
  type EffectiveConfiguration,
} from '../../db/agents/effective/effective.ts';
import { readAgentSource, type AgentSource } from '../../db/agents/effective/effective-source.ts';
import { templateVariables, variablesOf, withSkills } from '../../db/agents/effective/instructions.ts';
import { Agent } from '../../db/agents/agent.entity.ts';
import { diffDocuments } from '../../domain/agents/revision-diff.ts';
import type { RevisionDocument } from '../../db/agents/revisions/revision-document.ts';
import { readRevisionPair } from '../../domain/agents/revisions.ts';
import { atRun, type RevisionProblem } from '../../domain/agents/revision-problems.ts';
import { validateRevision } from '../../domain/agents/validate-revision.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import { see } from '../../db/scope.ts';
import { TemplateError } from '../../ports/templates/templates.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { get, post, type Ctx } from '../http/operation/operation.ts';
import { AgentParams, AgentRevisionParams } from './agent.schema.ts';
import {
  DiffQuery,
  EffectiveAgentView,
  EffectiveQuery,
  RevisionDiffView,
  RevisionValidate,
  RevisionValidationView,
  toDiffView,
  toEffectiveView,
  toProblemView,
} from './effective.schema.ts';
import { lineComparisonOf } from './dependencies.ts';
import { ceilingWarnings, priceWarnings } from './price-warnings.ts';
import { revisionChecks } from './revision-checks.ts';
import { toRevisionDraft } from './revision.schema.ts';

export const effectiveOperations = {
  diffAgentRevisions: get(
    '/agents/{agent_id}/revisions/{revision_id}/diff',
    {
      summary: 'Compare two revisions',
      description:
        'Returns what has changed from `against` (by default the active revision) to this revision. Bindings are matched by what they refer to, not by position.',
      access: 'viewer',
      fails: ['state_conflict'],
      mcp: true,
      params: AgentRevisionParams,
      query: DiffQuery,
      view: RevisionDiffView,
    },
    async (ctx, { params, query }) => {
      const { base, target } = await readRevisionPair(ctx, {
        agentId: params.agent_id,
        targetId: params.revision_id,
        baseId: query.against ?? null,
      });
      const texts = { before: base.document.instructions, after: target.document.instructions };
      const lines = await lineComparisonOf(ctx.deps).compare(organizationOf(ctx.caller), texts);
      return toDiffView(base, target, { ...diffDocuments(base.document, target.document), lines });
    },
  ),

  validateAgentRevision: post(
    '/agents/{agent_id}/validate',
    {
      summary: 'Validate a revision without storing it',
      description:
        'Returns every problem that would prevent the document from being stored or activated, and what a run would omit. Stores nothing.',
      access: 'member',
      audit: 'none',
      success: [200],
      example: { body: { revision: { instructions: 'Answer in one sentence.', tools: [{ slug: 'web_fetch' }] } } },
      params: AgentParams,
      body: RevisionValidate,
      view: RevisionValidationView,
    },
    async (ctx, { params, body }) => {
      const source = await readAgentSource(ctx, {
        agentId: params.agent_id,
        revisionId: null,
        personaSlug: body.persona_slug ?? null,
        currency: ctx.deps.env.billingCurrency,
      });
      if (typeof body.persona_slug === 'string' && source.persona === null)
        throw invalid('/persona_slug', 'reference', 'The agent has no such persona.', { kind: 'persona', slug: body.persona_slug });
      const agent = await see(ctx, Agent, params.agent_id);
      const checked = await validateRevision(ctx, { rowScope: agent, draft: toRevisionDraft(body.revision) }, revisionChecks(ctx));
      const { effective, prompt } = await configure(ctx, source, checked.document);
      const problems = [...checked.problems, ...runProblems(effective, prompt)];
      return {
        valid: !problems.some(({ severity }) => severity === 'error'),
        problems: problems.map(toProblemView),
        prompt_tokens_estimate: promptTokens(prompt, effective.tools),
      };
    },
  ),

  getEffectiveAgent: get(
    '/agents/{agent_id}/effective',
    {
      summary: 'Read what a run would use',
      description:
        'Returns the model, system prompt, tools with their approvals, skills, agents and limits that a run starting now would use, and what it would omit.',
      access: 'member',
      fails: ['state_conflict'],
      mcp: true,
      params: AgentParams,
      query: EffectiveQuery,
      view: EffectiveAgentView,
    },
    async (ctx, { params, query }) => {
      const source = await readAgentSource(ctx, {
        agentId: params.agent_id,
        revisionId: query.revision_id ?? null,
        personaSlug: query.persona_slug ?? null,
        currency: ctx.deps.env.billingCurrency,
      });
      if (query.persona_slug !== undefined && source.persona === null) throw invalidQuery('persona_slug', 'The agent has no such persona.');
      if (source.revision === null && query.revision_id !== undefined) throw invalidQuery('revision_id', 'The agent has no such revision.');
      if (source.revision === null) throw fail('state_conflict', { reason: 'agent_inactive', detail: 'The agent has no revision.' });
      const { effective, prompt } = await configure(ctx, source, source.revision.document);
      return toEffectiveView(effective, {
        agentId: source.agent.id,
        revisionId: source.revision.id,
        personaSlug: source.persona?.slug ?? null,
        hash: hashOfConfiguration(effective),
        instructions: prompt,
      });
    },
  ),
};

/** Returns the effective configuration of a document with the agent's other layers, and the resulting system prompt. */
async function configure(
  ctx: Ctx,
  source: AgentSource,
  document: RevisionDocument,
): Promise<{ effective: EffectiveConfiguration; prompt: string }> {
  const bound = await readBoundRows(ctx, {
    agentId: source.agent.id,
    document,
    place: source.place,
    subjectUserId: ctx.caller.userId,
    withTexts: true,
  });
  const configured = effectiveConfiguration({ model: ctx.deps.models.resolve }, { document, persona: source.persona, bound });
  const spending = [...priceWarnings(ctx, source.pricing, configured.models), ...ceilingWarnings(source.pricing, configured.limits)];
  const effective = { ...configured, warnings: [...configured.warnings, ...spending] };
  const rendered = await renderInstructions(ctx, source, { document, template: effective.instructions });
  const skills = effective.skills.map(({ slug, description, text }) => ({ slug, description, text }));
  if (rendered !== null) return { effective, prompt: withSkills(rendered, skills) };
  const warning = { pointer: '/instructions', rule: 'template', message: 'the instructions cannot be rendered with these values' };
  return {
    effective: { ...effective, warnings: [...effective.warnings, warning] },
    prompt: withSkills(effective.instructions, skills),
  };
}

/** Null when the template can't be rendered: a run would fail. */
async function renderInstructions(
  ctx: Ctx,
  { agent, persona, workspace }: AgentSource,
  { document, template }: { readonly document: RevisionDocument; readonly template: string },
): Promise<string | null> {
  if (!template.includes('{')) return template;
  const variables = templateVariables({
    agent,
    persona,
    subject: ctx.caller.userId === null ? { kind: null, id: null } : { kind: 'user', id: ctx.caller.userId },
    workspace: workspace ?? {},
    now: ctx.deps.now().toISOString(),
    vars: variablesOf(document, null),
  });
  try {
    return (await ctx.deps.templates.of(organizationOf(ctx.caller)).render(template, variables)).text;
  } catch (error) {
    if (error instanceof TemplateError) return null;
    throw error;
  }
}

/** What a run would do without, and a prompt that leaves too little room. */
function runProblems(effective: EffectiveConfiguration, prompt: string): RevisionProblem[] {
  const warnings = effective.warnings.map(({ pointer, rule, message, params }) =>
    atRun(pointer, { rule, message, ...(params ? { params: { ...params } } : {}) }),
  );
  const window = effective.model?.contextWindow ?? Infinity;
  const tokens = promptTokens(prompt, effective.tools);
  if (tokens <= window / 2) return warnings;
  return [
    ...warnings,
    atRun('/instructions', {
      rule: 'prompt_size',
      message: 'The prompt uses more than half of the model’s context window.',
      params: { tokens, context_window: window },
    }),
  ];
}

function invalidQuery(name: string, message: string) {
  return fail('validation_failed', { detail: message, errors: [{ in: 'query', pointer: null, name, rule: 'reference', message }] });
}
