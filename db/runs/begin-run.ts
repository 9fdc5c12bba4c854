import { fail } from '../../workflows/contracts/failure.ts';
import { isTerminal } from '../../workflows/contracts/runs.ts';
import type { RevisionDocument } from '../agents/revision-document.ts';
import { row, rows } from '../sql.ts';
import { appendFrames, stateBatch } from '../streams/append.ts';
import type { ContentBlock } from '../streams/frame-parts.schema.ts';
import type { Unit } from '../unit.ts';
import { pinTools, type Manifest } from './manifest.ts';
import { messageFrame, startedFrame } from './run-frames.ts';
import { identityOf, lockRun, type RunState } from './run-state.ts';

const mostWarnings = 20;

/**
 * Takes a queued, active run to running: pins the manifest, writes run.started and the input. A run that is running, waiting or
 * cancelling already, or whose place is frozen, is returned as it is; null means that it has ended or is gone. `pinModels` gives registry ids.
 */
export async function beginRun(unit: Unit, runId: string, pinModels: (document: RevisionDocument) => string[]): Promise<RunState | null> {
  const run = await lockRun(unit, runId);
  if (!run || isTerminal(run.status)) return null;
  if (run.status !== 'queued' || run.is_frozen) return run;
  if (run.activated_at === null) throw fail('service_unavailable', { reason: 'not_active', detail: 'The run is still in line.' });

  const source = await readSource(unit, run);
  const { tools, warnings } = await pinTools(unit, source.document);
  const manifest: Manifest = {
    agent: { id: run.agent_id, slug: run.agent_slug, name: source.agent_name, description: source.agent_description },
    workspace: { id: run.workspace_id, slug: source.workspace_slug, name: source.workspace_name, timezone: source.workspace_timezone },
    revision: { id: run.agent_revision_id, number: source.revision_number },
    models: pinModels(source.document),
    tools,
    max_tool_calls: source.document.limits.max_tool_calls,
    vars: variablesOf(source.document, run.input.json),
    begun_at: new Date().toISOString(),
  };
  const [started] = await rows<{ started_at: string }>(
    unit.em,
    `update runs set status = 'running', started_at = clock_timestamp(), manifest = ?::jsonb, warnings = warnings || ?::jsonb, updated_at = now()
      where id = ? and status = 'queued' returning started_at`,
    [JSON.stringify(manifest), JSON.stringify(warnings.slice(0, mostWarnings)), run.id],
  );
  const running: RunState = { ...run, status: 'running', manifest, started_at: started?.started_at ?? manifest.begun_at };
  await appendFrames(unit, [stateBatch(identityOf(running), [startedFrame(running), ...(await inputFrames(unit, running))])]);
  return running;
}

function variablesOf(document: RevisionDocument, json: unknown): Record<string, unknown> {
  const given: Record<string, unknown> = json !== null && typeof json === 'object' && !Array.isArray(json) ? { ...json } : {};
  return Object.fromEntries(document.variables.map((variable) => [variable.name, given[variable.name] ?? variable.default]));
}

interface SourceRow {
  readonly document: RevisionDocument;
  readonly revision_number: number;
  readonly agent_name: string;
  readonly agent_description: string | null;
  readonly workspace_slug: string;
  readonly workspace_name: string;
  readonly workspace_timezone: string;
}

async function readSource(unit: Unit, run: RunState): Promise<SourceRow> {
  const source = await row<SourceRow>(
    unit.em,
    `select v.document, v.number as revision_number, a.name as agent_name, a.description as agent_description,
            w.slug as workspace_slug, w.name as workspace_name, w.timezone as workspace_timezone
       from agent_revisions v join agents a on a.id = v.agent_id join workspaces w on w.id = ?
      where v.id = ? and v.agent_id = ?`,
    [run.workspace_id, run.agent_revision_id, run.agent_id],
  );
  if (!source) throw fail('not_found', { detail: 'The revision of the run is gone.' });
  return source;
}

async function inputFrames(unit: Unit, run: RunState) {
  const inputs = await rows<{ id: string; content: ContentBlock[] }>(
    unit.em,
    `select id, content from messages where run_id = ? and role = 'user' and state = 'pending' order by pos`,
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
      origin: 'user',
    }),
  );
}
