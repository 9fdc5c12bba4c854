import { isTerminal, runStatuses, type RunStatus } from '../../../workflows/contracts/runs/runs.ts';
import { treesOf, type Evidence, type Fault, type RunFact } from './evidence.ts';
import { markersIn } from './record.ts';

/** Nothing acknowledged is lost, nothing runs twice, everything has ended. */
export function judgeEnds({ client, runs, leftovers }: Evidence): Fault[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const lost = client.starts.filter((start) => start.runId !== null && !byId.has(start.runId));
  const starts = Map.groupBy(
    runs.filter(isStart).flatMap((run) => markersIn(run.input_text ?? '').slice(0, 1)),
    (marker) => marker,
  );
  const doubled = client.starts.filter(({ marker }) => (starts.get(marker)?.length ?? 0) > 1);
  const live = runs.filter((run) => !isTerminal(statusOf(run)));
  const left = Object.entries(leftovers).filter(([, count]) => count > 0);
  return [
    ...lost.map((start) => `${start.runId}: acknowledged (${start.kind}) and lost`),
    ...doubled.map((start) => `${start.marker}: one start (${start.kind}) made several runs`),
    ...live.map((run) => `${run.id}: never ended, is ${run.status}`),
    ...runs.filter((run) => run.holds_conversation).map((run) => `${run.id}: still holds its conversation`),
    ...runs.filter((run) => run.pending_approvals !== 0).map((run) => `${run.id}: counts ${run.pending_approvals} pending approvals`),
    ...left.map(([what, count]) => `left over: ${what} ${count}`),
    ...client.surprises.map((surprise) => `a client was told ${surprise}`),
  ];
}

/** Of ended runs nothing is open, and places in a turn are held once. */
export function judgeOpenRows({ steps, calls, messages, approvals }: Evidence): Fault[] {
  const openCalls = calls.filter((call) => ['recorded', 'gated', 'ready', 'executing'].includes(call.state));
  const places = Map.groupBy(messages, (message) => `${message.run_id} ${message.pos}`);
  return [
    ...steps.filter((step) => step.status === 'running').map((step) => `${step.run_id}: step ${step.step} is still open`),
    ...openCalls.map((call) => `${call.run_id}: call ${call.id} is still ${call.state}`),
    ...messages
      .filter((message) => message.state === 'pending')
      .map((message) => `${message.run_id}: message ${message.id} is still pending`),
    ...approvals
      .filter((approval) => approval.status === 'pending')
      .map((approval) => `${approval.run_id}: approval ${approval.id} is still pending`),
    ...[...places].filter(([, there]) => there.length > 1).map(([place, there]) => `${place}: ${there.length} messages share a place`),
  ];
}

/** Every provider accepts the committed history: turns one after the other, each call closed by its result before anything else is said. */
export function judgeHistories({ messages }: Evidence): Fault[] {
  const faults: Fault[] = [];
  for (const [conversation, all] of Map.groupBy(messages, (message) => message.conversation_id)) {
    const committed = all.filter((message) => message.state === 'committed');
    const turns = Map.groupBy(committed, (message) => message.turn);
    for (const [turn, said] of turns) {
      const runs = new Set(said.map((message) => message.run_id));
      if (runs.size > 1) faults.push(`${conversation}: turn ${turn} is of ${runs.size} runs`);
      faults.push(...pairingFaults(said.toSorted((a, b) => a.pos - b.pos)).map((fault) => `${conversation}, turn ${turn}: ${fault}`));
    }
  }
  return faults;
}

/** Each acknowledged answer is the row's, each acknowledged input is read once, or stays unread where its run ended otherwise. */
export function judgePromises({ client, approvals, inputs, messages, runs }: Evidence): Fault[] {
  const rowOf = new Map(approvals.map((approval) => [approval.id, approval]));
  const answered = client.answers.filter(({ approvalId, status }) => rowOf.get(approvalId)?.status !== status);
  const statuses = new Map(runs.map((run) => [run.id, run.status]));
  const unread = new Set(inputs.filter((input) => input.read_at_step === null).map((input) => input.run_id));
  return [
    ...answered.map(
      (answer) => `${answer.runId}: answered ${answer.status}, approval ${answer.approvalId} is ${rowOf.get(answer.approvalId)?.status}`,
    ),
    ...client.inputs.flatMap(({ runId, marker }) => {
      const read = messages.filter((message) => message.role === 'user' && message.text.includes(marker)).length;
      if (read === 1) return [];
      if (read === 0 && unread.has(runId) && statuses.get(runId) !== 'succeeded') return [];
      return [`${runId}: an added input was read ${read} times`];
    }),
  ];
}

/** Totals of the subtree are the sums of the tree's ledger. */
export function judgeTotals({ runs, views, ledger }: Evidence): Fault[] {
  const entries = Map.groupBy(ledger, (entry) => entry.run_id);
  const totalOf = (ids: readonly string[]) => {
    const of = ids.flatMap((id) => entries.get(id) ?? []);
    return { calls: of.length, input: sum(of.map((entry) => entry.input)), output: sum(of.map((entry) => entry.output)) };
  };
  const below = (run: RunFact, tree: readonly RunFact[]): string[] => [
    run.id,
    ...tree.filter((child) => child.parent_run_id === run.id).flatMap((child) => below(child, tree)),
  ];
  return [...treesOf(runs).values()].flatMap((tree) =>
    tree.flatMap((run) => {
      const usage = views.get(run.id)?.usage;
      if (!usage) return [];
      return [
        ...difference(`${run.id}: own usage`, shown(usage.own), totalOf([run.id])),
        ...difference(`${run.id}: usage of the subtree`, shown(usage.subtree), totalOf(below(run, tree))),
      ];
    }),
  );
}

function shown({ model_calls: calls, tokens }: { model_calls: number; tokens: Readonly<Record<string, number>> }) {
  const of = (name: string) => tokens[name] ?? 0;
  return { calls, input: of('input') + of('cached_read') + of('cached_write'), output: of('output') + of('reasoning') };
}

function difference(what: string, view: object, ledger: object): Fault[] {
  const [left, right] = [JSON.stringify(view), JSON.stringify(ledger)];
  return left === right ? [] : [`${what}: the view says ${left}, the ledger ${right}`];
}

function pairingFaults(said: readonly Evidence['messages'][number][]): Fault[] {
  const faults: Fault[] = [];
  let open = new Set<string>();
  for (const message of said) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id ?? '')) faults.push(`a result of ${message.tool_call_id} that nothing asked for`);
      continue;
    }
    if (open.size > 0) faults.push(`${open.size} calls without a result before message ${message.id}`);
    open = new Set(message.tool_call_ids);
  }
  return open.size > 0 ? [...faults, `${open.size} calls without a result at the end`] : faults;
}

/** Made by a client's start: a retry asks the same again, a sub-agent is asked by its parent. */
function isStart(run: RunFact): boolean {
  return run.parent_run_id === null && run.retry_of_run_id === null;
}

function statusOf(run: RunFact): RunStatus {
  const status = runStatuses.find((known) => known === run.status);
  if (!status) throw new Error(`${run.id} has status ${run.status}`);
  return status;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
