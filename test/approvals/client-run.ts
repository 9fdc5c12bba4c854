import { makeAsked, type TreeWorld } from '../sub-agents/tree.ts';
import { makeTool, openGates } from './asked-run.ts';

/** A call of a client as the API shows it in its run. */
export interface Pending {
  readonly tool_call_id: string;
  readonly run_id: string;
  readonly slug: string;
  readonly args: Record<string, unknown> | null;
  readonly args_hash: string;
  readonly truncated: boolean;
  readonly deadline_at: string;
}

/** A begun run whose model has asked a tool of its client for these arguments, once each. */
export async function clientRun(
  tree: TreeWorld,
  { args = [{ n: 1 }], tool = {} }: { args?: readonly Record<string, unknown>[]; tool?: Record<string, unknown> } = {},
): Promise<{ runId: string; callIds: string[]; slug: string }> {
  const slug = await makeTool(tree, { client_owned: true, timeout_s: 600, ...tool });
  const agent = await makeAsked(tree, { tools: [{ slug }] });
  const runId = await tree.begin(agent.id);
  const callIds = await tree.ask(
    runId,
    args.map((one) => ({ slug, args: one })),
  );
  await openGates(tree, runId);
  return { runId, callIds, slug };
}

/** A run of three depths whose two lowest wait for calls of their client. */
export async function clientFamily(tree: TreeWorld) {
  const slug = await makeTool(tree, { client_owned: true, timeout_s: 600 });
  const leaf = await makeAsked(tree, { tools: [{ slug }] });
  const middle = await makeAsked(tree, { tools: [{ slug }], sub_agents: [{ id: leaf.id }] });
  const top = await makeAsked(tree, { sub_agents: [{ id: middle.id }] });
  const rootId = await tree.begin(top.id);
  const [toMiddle = ''] = await tree.ask(rootId, [{ slug: middle.ask, args: { task: 'Middle.' } }]);
  const middleId = await tree.openAndBegin(rootId, toMiddle);
  const [toLeaf = '', middleCall = ''] = await tree.ask(middleId, [
    { slug: leaf.ask, args: { task: 'Leaf.' } },
    { slug, args: { n: 2 } },
  ]);
  const leafId = await tree.openAndBegin(middleId, toLeaf);
  const [leafCall = ''] = await tree.ask(leafId, [{ slug, args: { n: 3 } }]);
  await openGates(tree, middleId);
  await openGates(tree, leafId);
  return { rootId, middleId, leafId, middleCall, leafCall, slug };
}
