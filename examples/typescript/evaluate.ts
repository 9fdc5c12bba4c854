import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from './connect.ts';

// An evaluation for a pipeline: `node evaluate.ts items.jsonl 0.9` exits with 1 if fewer than 90 % of the items pass, and with 2 if nothing could be judged.
const { longhaul, agent } = connect();
const [path = 'items.jsonl', least = '1'] = process.argv.slice(2);

let agentId: string | null = null;
for await (const { id, slug } of longhaul.listAgents()) if (slug === agent) agentId = id;
if (agentId === null) throw new Error(`there is no agent ${agent}`);

// The same commit evaluated again by a repeated job is the same evaluation.
const job = process.env['CI_JOB_ID'];
const started = await longhaul.createEvaluation(
  {
    agent_id: agentId,
    dataset: { format: 'jsonl', text: await readFile(path, 'utf8') },
    evaluators: [{ key: 'names-it', type: 'contains' }],
  },
  job ? { idempotencyKey: `evaluation-${job}` } : {},
);
let evaluation = await longhaul.getEvaluation({ evaluation_run_id: started.id });
while (evaluation.status === 'queued' || evaluation.status === 'running') {
  await delay(1_000);
  evaluation = await longhaul.getEvaluation({ evaluation_run_id: started.id });
}

const { pass_rate: rate, completed, results } = evaluation.summary;
process.stdout.write(
  `${evaluation.status}: ${completed} of ${results} results, ${rate === null ? 'none judged' : `${(rate * 100).toFixed(1)} % passed`}\n`,
);
process.exitCode = evaluation.status !== 'succeeded' || rate === null ? 2 : rate < Number(least) ? 1 : 0;
