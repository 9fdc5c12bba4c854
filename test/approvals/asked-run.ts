import { refusalOf } from '../../activities/tools/calls/refusal.ts';
import { moveApprovals } from '../../domain/approvals/move-gates.ts';
import { lockRunWithAncestors } from '../../db/runs/run-state.ts';
import type { LockedRuns } from '../../domain/runs/waiting.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { makeAsked, type AskedCall, type TreeWorld } from '../sub-agents/tree.ts';

const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'], additionalProperties: false };

/** Makes an HTTP tool that takes a number; gives its slug. */
export async function makeTool(tree: TreeWorld, more: Record<string, unknown> = {}): Promise<string> {
  const slug = `tool-${crypto.randomUUID().slice(0, 8)}`;
  const config = { method: 'POST', url: 'https://tools.example.com/x' };
  const body = { slug, kind: 'http', description: 'Does it.', input_schema: schema, config, ...more };
  const made = await tree.world.call(tree.tenant.tokens.admin, 'POST', '/tools', { body });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return slug;
}

/** Work in the run's tenant with the run and its ancestors locked. */
export function withRun<R>(tree: TreeWorld, runId: string, work: (tx: TenantTransaction, runs: LockedRuns) => Promise<R>): Promise<R> {
  return tree.as(runId, async (tx) => {
    const runs = await lockRunWithAncestors(tx, runId);
    if (!runs) throw new Error('the run is gone');
    return work(tx, runs);
  });
}

export const openGates = (tree: TreeWorld, runId: string, step = 1) =>
  withRun(tree, runId, (tx, runs) => moveApprovals(tx, runs, { step, refusalOf }));

/** A begun run whose calls of a tool that is asked about each time have been put to people; gives the questions in their order. */
export async function askedRun(
  tree: TreeWorld,
  { args = [1], tool = {}, approval = 'always' }: { args?: readonly number[]; tool?: Record<string, unknown>; approval?: string } = {},
): Promise<{ runId: string; approvalIds: string[]; callIds: string[] }> {
  const slug = await makeTool(tree, tool);
  const agent = await makeAsked(tree, { tools: [{ slug, approval }] });
  const runId = await tree.begin(agent.id);
  const calls: AskedCall[] = args.map((n) => ({ slug, args: { n } }));
  const callIds = await tree.ask(runId, calls);
  await openGates(tree, runId);
  const { ids } = await tree.one<{ ids: string[] }>(
    'select array_agg(a.id order by c.pos) as ids from approvals a join tool_calls c on c.id = a.tool_call_id where a.run_id = ?',
    [runId],
  );
  return { runId, approvalIds: ids, callIds };
}
