import { followedTime } from '../../../db/database-clock.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import { readBoundRows } from '../../../db/agents/effective/bound-rows.ts';
import { effectiveConfiguration, hashOfConfiguration, type Deployment } from '../../../db/agents/effective/effective.ts';
import { variablesOf } from '../../../db/agents/effective/instructions.ts';
import { upgradeDocument } from '../../../db/agents/revisions/upgrade-document.ts';
import { unusableInputs } from '../../attachments/run-attachments.ts';
import { followRunChange } from '../../run-changed.ts';
import { recordSkillUse } from '../../../db/skills/skill-uses.ts';
import { appendFrames, stateBatch } from '../../../db/streams/append.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { mayDelegate, withoutDelegates } from '../../../db/runs/children/delegates.ts';
import { pinsOf, type Manifest, type PinnedPersona, type PinnedWarning } from '../../../db/runs/start/manifest.ts';
import { discardReplaced } from './retry-run.ts';
import { messageFrame, startedFrame } from '../../../db/runs/run-frames.ts';
import { identityOf, lockRun, type RunState } from '../../../db/runs/run-state.ts';
import { type SourceRow, readSource, writeBegun, readPendingInputs } from '../../../db/runs/start/begin-rows.ts';

const maxWarnings = 20;

/**
 * Moves a queued, active run to running: pins the manifest, writes run.started and the input. A run that is already running, waiting or cancelling, or whose
 * workspace is frozen, is returned as it is; null means that it has ended or no longer exists. Throws upstream_failed `model_unavailable` when the deployment
 * can't call the model.
 */
export async function beginRun(tx: TenantTransaction, runId: string, deployment: Deployment): Promise<RunState | null> {
  const run = await lockRun(tx, runId);
  if (!run || isTerminal(run.status)) return null;
  if (run.status !== 'queued' || run.is_frozen) return run;
  if (run.activated_at === null) throw fail('service_unavailable', { reason: 'not_active', detail: 'The run is still queued.' });

  const left = await unusableInputs(tx, { id: run.id, activatedAt: new Date(run.activated_at) }, run.input.attachments ?? []);
  const { manifest, warnings: pinned } = await pin(tx, run, deployment);
  const personaSlug = manifest.persona?.slug ?? null;
  const warnings = [...pinned, ...left.map(leftOutWarning)];
  const [startedAt, inputs] = await Promise.all([
    writeBegun(tx, run.id, { personaSlug, manifest, warnings: warnings.slice(0, maxWarnings) }),
    inputFrames(tx, run),
  ]);
  await discardReplaced(tx, run);
  const running: RunState = {
    ...run,
    status: 'running',
    persona_slug: personaSlug,
    manifest,
    started_at: startedAt ?? manifest.begun_at,
  };
  await appendFrames(tx, [stateBatch(identityOf(running), [startedFrame(running), ...inputs])]);
  await followRunChange(tx, running);
  return running;
}

/** Pins what the run uses until its end. */
async function pin(
  tx: TenantTransaction,
  run: RunState,
  deployment: Deployment,
): Promise<{ manifest: Manifest; warnings: PinnedWarning[] }> {
  const source = await readSource(tx, run);
  // An agent is deleted with its runs; a run that was started at the same moment ends here.
  if (source === null) throw fail('not_found', { detail: 'The agent of the run no longer exists.' });
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
  // The texts of these skills are in the prompt from the first step on.
  await recordSkillUse(
    tx,
    run,
    effective.skills.filter(({ mode }) => mode === 'always'),
  );
  return {
    manifest: {
      ...pins,
      agent: { id: run.agent_id, slug: run.agent_slug, name: source.agentName, description: source.agentDescription },
      workspace: { id: run.workspace_id, slug: source.workspaceSlug, name: source.workspaceName, timezone: source.workspaceTimezone },
      revision: { id: run.agent_revision_id, number: source.revisionNumber },
      persona: personaPin(source.persona),
      vars: variablesOf(document, run.input.json),
      hash: hashOfConfiguration(effective),
      begun_at: followedTime(tx.em).toISOString(),
    },
    warnings: [...warnings, ...personaWarnings(run, source)],
  };
}

function leftOutWarning(name: string): PinnedWarning {
  return { code: 'state_conflict', message: `the file ${name} of the input is not ready and was omitted` };
}

function modelUnavailable(model: string | null) {
  return fail('upstream_failed', { reason: 'model_unavailable', detail: `This deployment has no model ${model ?? 'by default'}.` });
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

async function inputFrames(tx: TenantTransaction, run: RunState) {
  const inputs = await readPendingInputs(tx, run.id);
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
