import { readKnowledgeRun } from '../../../db/knowledge/runs/run-bindings.ts';
import type { HistoryMessage } from '../../../db/runs/read/history.ts';
import { insertPassages } from '../../../domain/runs/input/injected-passages.ts';
import type { OpenedStep } from '../../../domain/runs/steps/model-steps.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { isRelevant } from '../../../domain/knowledge/search/relevance.ts';
import type { SearchHit } from '../../../domain/knowledge/search/search.ts';
import { basesToInject } from '../../../domain/knowledge/bases/searchable-bases.ts';
import type { ActivityDeps } from '../../deps.ts';
import { passagesOf, searchForRun } from '../../knowledge/run-search.ts';
import { transactAsRun } from '../../runs/as-run.ts';
import { isGivenUpFailure } from '../../support/failures.ts';

/** Maximum characters of all passages together: injected text leaves room for the question. */
const maxPassageChars = 12_000;
/** Maximum characters of a user's message that a search takes. */
const maxQueryChars = 2_000;

/**
 * Returns the step with passages of its injected bases before the user's message. They are searched once per run, before its first model call, and stored as a
 * message of the run. When the search fails, the run goes on without passages.
 */
export async function withPassages(deps: ActivityDeps, opened: OpenedStep): Promise<OpenedStep> {
  const { run, history } = opened;
  const pins = (run.manifest.knowledge ?? []).filter(({ mode }) => mode !== 'tool');
  const own = history.filter(({ isOwn }) => isOwn);
  if (pins.length === 0 || own.some(({ role }) => role === 'assistant' || role === 'system')) return opened;
  const query = spoken(own).trim().slice(0, maxQueryChars).toWellFormed();
  if (query === '') return opened;

  const transact = <R>(work: (tx: TenantTransaction) => Promise<R>) => transactAsRun(deps, run.id, work);
  try {
    const text = await findPassages(deps, { transact, opened, query, topK: Math.max(...pins.map(({ top_k }) => top_k)) });
    if (text === null) return opened;
    const message = await transact((tx) => insertPassages(tx, run, text));
    const at = history.findIndex(({ isOwn }) => isOwn);
    return { ...opened, history: history.toSpliced(at, 0, message) };
  } catch (error) {
    if (isGivenUpFailure(error)) throw error;
    deps.log.warn({ err: error, run_id: run.id }, 'passages were not injected');
    return opened;
  }
}

interface Injection {
  readonly transact: <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;
  readonly opened: OpenedStep;
  readonly query: string;
  readonly topK: number;
}

async function findPassages(deps: ActivityDeps, { transact, opened, query, topK }: Injection): Promise<string | null> {
  const { run } = opened;
  const asking = await transact((tx) => readKnowledgeRun(tx, run.id));
  const bases = asking === null ? [] : await transact((tx) => basesToInject(tx, asking));
  if (bases.length === 0) return null;
  const place = { organizationId: run.organization_id, workspaceId: run.workspace_id };
  const { hits } = await searchForRun(deps, { place, now: deps.db.clock.now(), transact }, { bases, query, topK });
  const languages = new Map(bases.map(({ id, retrieval }) => [id, retrieval.language]));
  const fitting = withinRoom(hits.filter((hit) => isRelevant(hit, query, languages.get(hit.row.kbId) ?? 'none')));
  return fitting.length === 0 ? null : passagesOf(fitting, bases);
}

/** Returns the best hits that fit; a passage is taken whole or not at all. */
function withinRoom(hits: readonly SearchHit[]): SearchHit[] {
  let left = maxPassageChars;
  return hits.filter(({ row }) => {
    if (row.text.length > left) return false;
    left -= row.text.length;
    return true;
  });
}

function spoken(messages: readonly HistoryMessage[]): string {
  const texts = messages.filter(({ role }) => role === 'user').flatMap(({ content }) => content);
  return texts
    .flatMap((block) => (block.type === 'text' ? [block.text] : block.type === 'json' ? [JSON.stringify(block.value)] : []))
    .join('\n');
}
