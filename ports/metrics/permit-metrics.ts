import { Counter, Gauge, Histogram, type Metric } from 'prom-client';
import { knownLabels } from './labels.ts';

export interface ModelLabel {
  readonly provider: string;
  readonly model: string;
}

/** What a process counts about the permits of its model calls. */
export interface PermitMetrics {
  /** A call has got its permit, or has given up, after this time. */
  waited(model: ModelLabel, seconds: number): void;
  /** The number of waiting calls has changed by this. */
  waiting(model: ModelLabel, change: 1 | -1): void;
  /** The provider has asked for a pause. */
  paused(model: ModelLabel): void;
  /** Whether the process grants its share of the provider's limits, since Redis does not answer. */
  ownShare(provider: string, isOn: boolean): void;
  /** In no registry: the process registers them. */
  readonly all: readonly Metric[];
}

const registers: [] = [];
const waitBuckets = [0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Creates the metrics of one process; `models`: those of the registry with limits. */
export function createPermitMetrics(models: readonly { readonly id: string; readonly provider: string }[]): PermitMetrics {
  const { wait, waiting, pauses, ownShare } = createMeters();
  const providerOf = knownLabels(models.map(({ provider }) => provider));
  const modelOf = knownLabels(models.map(({ id }) => id));
  const labelOf = ({ provider, model }: ModelLabel) => ({ provider: providerOf(provider), model: modelOf(model) });
  for (const { provider, id } of models) {
    waiting.set({ provider, model: id }, 0);
    pauses.inc({ provider, model: id }, 0);
    ownShare.set({ provider }, 0);
  }
  return {
    waited: (model, seconds) => wait.observe(labelOf(model), seconds),
    waiting: (model, change) => waiting.inc(labelOf(model), change),
    paused: (model) => pauses.inc(labelOf(model)),
    ownShare: (provider, isOn) => ownShare.set({ provider: providerOf(provider) }, isOn ? 1 : 0),
    all: [wait, waiting, pauses, ownShare],
  };
}

function createMeters() {
  const labelNames = ['provider', 'model'] as const;
  const wait = new Histogram({
    name: 'longhaul_model_permit_wait_seconds',
    help: 'Time that calls of models with limits waited for their permit',
    labelNames,
    buckets: waitBuckets,
    registers,
  });
  const waiting = new Gauge({ name: 'longhaul_model_permits_waiting', help: 'Calls that wait for a permit', labelNames, registers });
  const pauses = new Counter({
    name: 'longhaul_model_pauses_total',
    help: 'Refusals of a provider that paused a model for all processes',
    labelNames,
    registers,
  });
  const ownShare = new Gauge({
    name: 'longhaul_model_limits_divided',
    help: 'Whether the process grants its share of the limits by itself, since Redis does not answer',
    labelNames: ['provider'],
    registers,
  });
  return { wait, waiting, pauses, ownShare };
}
