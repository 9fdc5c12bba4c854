import { setTimeout as delay } from 'node:timers/promises';
import { modelFiles } from '../../cli/services/model-files.ts';
import { createEmbedder, type Embedder } from '../../ports/embeddings/index.ts';
import { loadModelRegistry } from '../../ports/models/models.ts';
import { knowledgeCalls, type KnowledgeCalls } from '../../test/support/knowledge.ts';
import { processEnvironment, reembeddedItems, wheelsDir } from '../env.ts';
import type { Bench, BenchOptions, Check, Outcome, Sample } from '../harness/bench.ts';
import { most } from '../harness/bench.ts';
import { compare, finding } from '../harness/compare.ts';
import { startProduct, using } from '../harness/deployment.ts';

const model = 'minilm-l6-v2';
const itemCount = reembeddedItems();
const itemsAtOnce = 500;
const pollMs = 100;

/** What a base of another model costs beside its vectors. */
export const reembed: Bench = {
  name: 'reembed',
  about: `A base of ${itemCount.toLocaleString('en')} items, a chunk each, embedded afresh with ${model} by POST …/reembed until it has taken the place of the old one, against the vectors of the same texts made by the same model in the bench's own process, ${itemCount} texts in calls as the model takes them. Each round has texts of its own, so that no cache serves.`,
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const files = await modelFiles({ wheelsDir, env: processEnvironment(), log });
  if (files === null) return { findings: [], checks: [] };
  const models = loadModelRegistry(
    { LONGHAUL_MODEL_BASE_URL: 'http://127.0.0.1:9', LONGHAUL_MODEL: 'none', EMBEDDING_MODEL_DIR: files },
    { info: () => undefined },
  );
  const embedder = createEmbedder(models.embeddings);
  keep({ stop: () => embedder.close() });
  const stack = keep(await startProduct(['api', 'worker-bulk'], { env: { EMBEDDING_MODEL_DIR: files } }));
  const calls = knowledgeCalls(() => stack);
  const missing: number[] = [];
  const measured = await compare({
    rounds: Math.min(rounds, 3),
    warmUps: 1,
    sides: {
      bare: () => paced(() => embedAll(embedder, textsOf())),
      product: async () => {
        const kbId = await filledBase(calls, textsOf());
        const sample = await paced(() => reembedded(calls, kbId));
        missing.push(await lacking(calls, kbId));
        return sample;
      },
    },
  });
  const checks: Check[] = [{ what: 'items or vectors that the new base lacks', value: Math.max(...missing), budget: most(0) }];
  const what = `${itemCount.toLocaleString('en')} items embedded afresh with ${model}`;
  return {
    findings: [finding(measured, { what, unit: 'items/s', metric: 'perSecond', floor: 'bare', product: 'product', budget: null })],
    checks,
  };
}

async function paced(work: () => Promise<unknown>): Promise<Sample> {
  const begun = performance.now();
  await work();
  return { perSecond: (itemCount * 1_000) / (performance.now() - begun) };
}

let texts = 0;

/** Texts that no other call gives. */
function textsOf(): string[] {
  texts += 1;
  return Array.from(
    { length: itemCount },
    (_, at) =>
      `Pump ${at} of delivery ${texts} stands in hall ${at % 17}. Its seal is replaced every ${1 + (at % 48)} months, and its bearings with it.`,
  );
}

async function embedAll(embedder: Embedder, all: readonly string[]): Promise<void> {
  await embedder.embed({ model, kind: 'document', texts: all, signal: new AbortController().signal });
}

async function filledBase(calls: KnowledgeCalls, all: readonly string[]): Promise<string> {
  const { id } = await calls.makeBase({ embedding_model: 'hash-v1' });
  for (let at = 0; at < all.length; at += itemsAtOnce)
    await calls.addItems(
      id,
      all.slice(at, at + itemsAtOnce).map((content) => ({ content })),
    );
  return id;
}

/** Until it has cut over. Throws where it fails. */
async function reembedded(calls: KnowledgeCalls, kbId: string): Promise<void> {
  await calls.asked('POST', `/knowledge-bases/${kbId}/reembed`, { slug: `afresh-${kbId}`, embedding_model: model });
  for (;;) {
    const [run] = await calls.sql<{ status: string; cut_over_at: string | null }>(
      "select status, cut_over_at from knowledge_runs where kb_id = ? and kind = 'reembed'",
      [kbId],
    );
    if (run?.cut_over_at) return;
    if (run?.status === 'failed' || run?.status === 'cancelled') throw new Error(`the re-embed ${run.status}`);
    await delay(pollMs);
  }
}

async function lacking(calls: KnowledgeCalls, kbId: string): Promise<number> {
  const [found] = await calls.sql<{ n: number }>(
    'select count(*)::int as n from knowledge_bases b join knowledge_vectors v on v.kb_id = b.successor_id and v.item_id is not null where b.id = ? and v.embedding_model = ?',
    [kbId, model],
  );
  return itemCount - (found?.n ?? 0);
}
