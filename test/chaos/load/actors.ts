import { setTimeout as delay } from 'node:timers/promises';
import { scripted } from '../../support/scenario.ts';
import type { Seeded } from '../../support/seeded.ts';
import { newMarker, type GivenAnswer } from '../checker/record.ts';
import { apis, type ChaosWorld } from '../world.ts';
import { insist } from './insist.ts';
import { talk } from './kinds.ts';
import { unlessEnded } from './start.ts';

/** Cancels a run some time after its start, if it still lives then. */
export async function cancelLater(world: ChaosWorld, runId: string, random: Seeded): Promise<void> {
  const [afterMs, policy, reason] = [random.between(0, 15_000), random.pick(['interrupt', 'rollback']), random.pick([null, 'Enough.'])];
  if (!(await unlessEnded(world, runId, afterMs))) return;
  const answer = await insist(world, { path: `/runs/${runId}/cancel`, body: { policy, reason }, names: apis });
  if (answer?.status === 202) world.record.cancels.push({ runId, policy, at: Date.now() });
  else if (answer && answer.status !== 409) world.record.surprises.push(`${answer.status} by a cancel`);
}

/** Sends messages into a run while it goes on. */
export async function steer(world: ChaosWorld, runId: string, random: Seeded): Promise<void> {
  for (let left = random.between(1, 3); left > 0; left--) {
    if (!(await unlessEnded(world, runId, random.between(200, 5_000)))) return;
    const marker = newMarker();
    const text = scripted({ steps: [talk(random)] }, `And another thing, ${marker}.`);
    const answer = await insist(world, { path: `/runs/${runId}/input`, body: { kind: 'message', text }, names: apis });
    if (answer?.status === 202) world.record.inputs.push({ runId, marker });
    else if (answer && answer.status !== 409)
      world.record.surprises.push(`${answer.status} by an input: ${JSON.stringify(answer.body).slice(0, 200)}`);
  }
}

interface Question {
  readonly id: string;
  readonly status: string;
  readonly reason: string;
  readonly decisions: readonly ('approve' | 'reject' | 'edit' | 'respond')[];
  readonly args: Readonly<Record<string, unknown>> | null;
}

/** Answers what a run and its descendants ask, at random, until the run has ended. */
export async function answerQuestions(world: ChaosWorld, runId: string, random: Seeded): Promise<void> {
  while (await unlessEnded(world, runId, random.between(300, 2_500))) {
    const listed = await insist<{ items: Question[] }>(world, {
      method: 'GET',
      path: `/runs/${runId}/approvals?status=pending`,
      names: apis,
    });
    for (const question of listed?.status === 200 ? listed.body.items : []) await answerOne(world, runId, { question, random });
  }
}

const outcomes = { approve: 'approved', reject: 'rejected', edit: 'edited', respond: 'responded' } as const;

/** One answer, sometimes given twice: the repeat is the same, so it changes nothing. */
async function answerOne(world: ChaosWorld, runId: string, { question, random }: { question: Question; random: Seeded }): Promise<void> {
  // A response in place of a call that asks nothing would need its schema; `ask_user` takes one of its options.
  const decision = question.reason === 'input_required' ? 'respond' : random.pick(question.decisions.filter((one) => one !== 'respond'));
  const body = {
    resolutions: [
      {
        approval_id: question.id,
        decision,
        ...(decision === 'edit' ? { edited_args: { n: 1_000_000 + random.between(0, 1_000_000_000) } } : {}),
        ...(decision === 'respond' ? { response: 'the second' } : {}),
      },
    ],
  };
  for (let times = random.between(1, 2); times > 0; times--) {
    const answer = await insist(world, { path: `/runs/${runId}/approvals`, body, names: apis });
    const given: GivenAnswer = { approvalId: question.id, runId, status: outcomes[decision] };
    if (answer?.status === 200) world.record.answers.push(given);
    else if (answer && answer.status !== 409)
      world.record.surprises.push(`${answer.status} by an answer: ${JSON.stringify(answer.body).slice(0, 300)}`);
  }
}

/** Executes the calls that a run leaves to its client. */
export async function serveClient(world: ChaosWorld, runId: string, random: Seeded): Promise<void> {
  const done = new Set<string>();
  while (await unlessEnded(world, runId, 200)) {
    for (const callId of clientCalls(world, runId)) {
      if (done.has(callId)) continue;
      done.add(callId);
      await delay(random.between(100, 3_000));
      const isGood = random.next() < 0.8;
      const result = { tool_call_id: callId, status: isGood ? 'succeeded' : 'failed', output: { by: 'the client' } };
      const answer = await insist(world, { path: `/runs/${runId}/input`, body: { kind: 'tool_results', results: [result] }, names: apis });
      if (answer && answer.status !== 202 && answer.status !== 409)
        world.record.surprises.push(`${answer.status} by a client's result: ${JSON.stringify(answer.body).slice(0, 200)}`);
    }
  }
}

/** Calls of its tools that a client has been told of so far. */
function clientCalls(world: ChaosWorld, runId: string): string[] {
  const slug = world.cast.slugs.client;
  const texts = world.record.seen.filter((seen) => seen.runId === runId).flatMap((seen) => seen.texts);
  return texts.flatMap((text) => {
    if (!text.includes('"phase":"ready"') || !text.includes(`"slug":"${slug}"`)) return [];
    const id = /"tool_call_id":"([0-9a-f-]{36})"/.exec(text)?.[1];
    return id === undefined ? [] : [id];
  });
}
