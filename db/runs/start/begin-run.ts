import { followedTime } from '../../database-clock.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { isTerminal } from '../../../workflows/contracts/runs.ts';
import { readBoundRows } from '../../agents/bound-rows.ts';
import { effectiveConfiguration, hashOfConfiguration, type Deployment } from '../../agents/effective.ts';
import { variablesOf } from '../../agents/instructions.ts';
import type { PersonaDocument } from '../../agents/persona-document.ts';
import type { RevisionDocument } from '../../agents/revision-document.ts';
import { upgradeDocument } from '../../agents/upgrade-document.ts';
import { unusableInputs } from '../input/run-attachments.ts';
import { wakeReplyOf } from '../../channels/replies.ts';
import { recordSkillUse } from '../../skills/skill-uses.ts';
import { row, rows } from '../../sql.ts';
import { appendFrames, stateBatch } from '../../streams/append.ts';
import type { ContentBlock } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { mayDelegate, withoutDelegates } from '../children/delegates.ts';
import { pinsOf, type Manifest, type PinnedPersona, type PinnedWarning } from './manifest.ts';
import { discardReplaced } from './retry-run.ts';
import { messageFrame, startedFrame } from '../run-frames.ts';
import { identityOf, lockRun, type RunState } from '../run-state.ts';

const maxWarnings = 20;

/**
 * Takes a queued, active run to running: pins the manifest, writes run.started and the input. A run that is running, waiting or
 * cancelling already, or whose place is frozen, is returned as it is; null means that it has ended or is gone. Throws upstream_failed
 * `model_unavailable` when the deployment can't call the model.
 */
export async function beginRun(tx: TenantTransaction, runId: string, deployment: Deployment): Promise<RunState | null> {
  const run = await lockRun(tx, runId);
  if (!run || isTerminal(run.status)) return null;
  if (run.status !== 'queued' || run.is_frozen) return run;
  if (run.activated_at === null) throw fail('service_unavailable', { reason: 'not_active', detail: 'The run is still in line.' });

  const left = await unusableInputs(tx, { id: run.id, activatedAt: new Date(run.activated_at) }, run.input.attachments ?? []);
  const { manifest, warnings: pinned } = await pin(tx, run, deployment);
  const personaSlug = manifest.persona?.slug ?? null;
  const warnings = [...pinned, ...left.map(leftOutWarning)];
  const [[started], inputs] = await Promise.all([
    rows<{ started_at: string }>(
      tx.em,
      `update runs set status = 'running', started_at = clock_timestamp(), persona_slug = ?, manifest = ?::jsonb, warnings = warnings || ?::jsonb, updated_at = now()
        where id = ? and status = 'queued' returning started_at`,
      [personaSlug, JSON.stringify(manifest), JSON.stringify(warnings.slice(0, maxWarnings)), run.id],
    ),
    inputFrames(tx, run),
  ]);
  await discardReplaced(tx, run);
  const running: RunState = {
    ...run,
    status: 'running',
    persona_slug: personaSlug,
    manifest,
    started_at: started?.started_at ?? manifest.begun_at,
  };
  await appendFrames(tx, [stateBatch(identityOf(running), [startedFrame(running), ...inputs])]);
  await wakeReplyOf(tx, running);
  return running;
}

/** What the run keeps to its end. */
async function pin(
  tx: TenantTransaction,
  run: RunState,
  deployment: Deployment,
): Promise<{ manifest: Manifest; warnings: PinnedWarning[] }> {
  const source = await readSource(tx, run);
  const document = upgradeDocument(source.document);
  const bound = await readBoundRows(tx, {
    agentId: run.agent_id,
    document,
    place: { organizationId: run.organization_id, workspaceId: run.workspace_id },
    subjectUserId: run.subject_kind === 'user' ? run.subject_id : null,
    withTexts: false,
  });
  const effective = effectiveConfiguration(deployment, { document, persona: source.persona?.document ?? null, bound });
  if (effective.model === null) throw modelUnavailable(source.persona?.document.model ?? document.model);
  const { warnings, ...pins } = pinsOf(mayDelegate(run.limits) ? effective : withoutDelegates(effective));
  // The texts of these are in the prompt from the first step on.
  await recordSkillUse(
    tx,
    run,
    effective.skills.filter(({ mode }) => mode === 'always'),
  );
  return {
    manifest: {
      ...pins,
      agent: { id: run.agent_id, slug: run.agent_slug, name: source.agent_name, description: source.agent_description },
      workspace: { id: run.workspace_id, slug: source.workspace_slug, name: source.workspace_name, timezone: source.workspace_timezone },
      revision: { id: run.agent_revision_id, number: source.revision_number },
      persona: personaPin(source.persona),
      vars: variablesOf(document, run.input.json),
      hash: hashOfConfiguration(effective),
      begun_at: followedTime(tx.em).toISOString(),
    },
    warnings: [...warnings, ...personaWarnings(run, source)],
  };
}

function leftOutWarning(name: string): PinnedWarning {
  return { code: 'state_conflict', message: `the file ${name} of the input is not ready and is left out` };
}

function modelUnavailable(model: string | null) {
  return fail('upstream_failed', { reason: 'model_unavailable', detail: `The deployment has no model ${model ?? 'by default'}.` });
}

function personaPin(persona: SourceRow['persona']): PinnedPersona | null {
  return persona === null ? null : { id: persona.id, version: persona.version, slug: persona.document.slug, name: persona.document.name };
}

function personaWarnings(run: RunState, { persona }: SourceRow): PinnedWarning[] {
  const asked = run.persona_slug;
  if (asked === null || persona?.document.slug === asked) return [];
  const instead = persona === null ? 'is left out' : 'the default one of the agent is worn';
  return [{ code: 'state_conflict', message: `the persona ${asked} is gone and ${instead}` }];
}

interface SourceRow {
  readonly document: RevisionDocument;
  readonly revision_number: number;
  readonly agent_name: string;
  readonly agent_description: string | null;
  readonly workspace_slug: string;
  readonly workspace_name: string;
  readonly workspace_timezone: string;
  readonly persona: { readonly id: string; readonly version: number; readonly document: PersonaDocument } | null;
}

/** A persona that was switched off meanwhile leaves the agent's default one, not the agent with everything that both take away. */
async function readSource(tx: TenantTransaction, run: RunState): Promise<SourceRow> {
  const source = await row<SourceRow>(
    tx.em,
    `select v.document, v.number as revision_number, a.name as agent_name, a.description as agent_description,
            w.slug as workspace_slug, w.name as workspace_name, w.timezone as workspace_timezone,
            (select jsonb_build_object('id', p.id, 'version', p.version, 'document', p.document) from personas p
              where p.agent_id = a.id and p.is_active and p.deleted_at is null and ?::text is not null and (p.slug = ?::text or p.is_default)
              order by p.slug = ?::text desc limit 1) as persona
       from agent_revisions v join agents a on a.id = v.agent_id join workspaces w on w.id = ?
      where v.id = ? and v.agent_id = ? and a.deleted_at is null`,
    [run.persona_slug, run.persona_slug, run.persona_slug, run.workspace_id, run.agent_revision_id, run.agent_id],
  );
  // An agent is deleted with its runs; one that was started at the same moment ends here.
  if (!source) throw fail('not_found', { detail: 'The agent of the run is gone.' });
  return source;
}

async function inputFrames(tx: TenantTransaction, run: RunState) {
  const inputs = await rows<{ id: string; origin: 'user' | 'system' | 'injected'; content: ContentBlock[] }>(
    tx.em,
    `select id, origin, content from messages where run_id = ? and role = 'user' and state = 'pending' order by pos`,
    [run.id],
  );
  return inputs.map((input) =>
    messageFrame({
      messageId: input.id,
      role: 'user',
      step: null,
      model: null,
      stopReason: null,
      content: input.content,
      toolCallIds: [],
      origin: input.origin,
    }),
  );
}
