import { Registry, type Metric } from 'prom-client';
import { runPython } from './python-packages.ts';

/** One line of a scraped page, as the parser of the Prometheus project reads it. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One metric of a scraped page. */
export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

const program = `
import json, sys
from importlib import import_module
parser = import_module(sys.argv[1])
families = parser.text_string_to_metric_families(sys.stdin.read())
print(json.dumps([{'name': f.name, 'type': f.type, 'help': f.documentation,
  'samples': [{'name': s.name, 'labels': s.labels, 'value': str(s.value)} for s in f.samples]} for f in families]))
`;

/** Reads a page by the Prometheus project's own parser of its format; throws where that finds a fault. */
export function parsePage(page: string, contentType: string): Family[] {
  const parser = contentType.startsWith('application/openmetrics-text')
    ? 'prometheus_client.openmetrics.parser'
    : 'prometheus_client.parser';
  const packages = { requirements: 'prometheus.requirements.txt', folder: 'prometheus-client-0.26.0' };
  const families = JSON.parse(runPython(program, { ...packages, args: [parser], input: page })) as (Family & {
    samples: (Sample & { value: string })[];
  })[]; // the program above writes it
  return families.map((family) => ({ ...family, samples: family.samples.map((sample) => ({ ...sample, value: Number(sample.value) })) }));
}

/** Reads the samples of a page that is known to be well-formed, for those who wait for a number: the parser is a process of its own. */
export function samplesOf(page: string): Sample[] {
  return [...page.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = '', labels = '', value]) => ({
    name,
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', text = '']) => [label, text])),
    value: Number(value),
  }));
}

/** The sum over all samples with this name and these labels; 0 where there is none. */
export function sumOf(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  return samples
    .filter((sample) => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

/** The same of metrics that no process serves. */
export async function valueOf(metrics: readonly Metric[], name: string, labels: Readonly<Record<string, string>>): Promise<number> {
  const registry = new Registry();
  for (const metric of metrics) registry.registerMetric(metric);
  return sumOf(samplesOf(await registry.metrics()), name, labels);
}
