import { Registry, type Metric, type OpenMetricsContentType } from 'prom-client';

/** The answer to a scrape. */
export interface MetricsPage {
  readonly contentType: string;
  readonly body: string;
}

/** The two formats, as media types without their parameters. */
export const metricsTypes = { text: 'text/plain', openMetrics: 'application/openmetrics-text' } as const;

/** Returns all metrics of a registry: as OpenMetrics 1.0 when the Accept header prefers it, otherwise in the Prometheus text format 0.0.4. */
export async function metricsPage(registry: Registry, accept: string | undefined): Promise<MetricsPage> {
  if (!prefersOpenMetrics(accept)) return { contentType: registry.contentType, body: await registry.metrics() };
  const view = openMetricsOf(registry);
  const body = await view.metrics();
  // OpenMetrics writes a bound as a float (`1.0`), which prom-client does not do.
  return { contentType: view.contentType, body: body.replaceAll(/([{,]le=")(\d+)"/g, '$1$2.0"') };
}

/**
 * Whether Accept (RFC 9110 §12.5.1) gives OpenMetrics an explicit weight that the text format does not exceed. A lone wildcard asks for the text format, which
 * every scraper reads.
 */
function prefersOpenMetrics(accept = '*/*'): boolean {
  const ranges = accept.split(',').map(readRange);
  const weightOf = (...types: string[]) => {
    for (const type of types) {
      const weights = ranges.filter((range) => range.type === type).map(({ weight }) => weight);
      if (weights.length > 0) return Math.max(...weights);
    }
    return 0;
  };
  const openMetrics = weightOf(metricsTypes.openMetrics);
  return openMetrics > 0 && openMetrics >= weightOf(metricsTypes.text, 'text/*', '*/*');
}

/** Of the parameters only `q` counts, and a version that is not ours, which makes it another type; Prometheus sends further ones (`escaping`). */
function readRange(range: string): { readonly type: string; readonly weight: number } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const valueOf = (name: string) =>
    parameters
      .find((parameter) => parameter.startsWith(`${name}=`))
      ?.slice(name.length + 1)
      .replaceAll('"', '');
  const version = valueOf('version');
  const isOther = version !== undefined && version !== (type === metricsTypes.openMetrics ? '1.0.0' : '0.0.4');
  const weight = Number(valueOf('q') ?? 1);
  return { type: isOther ? `${type}; version=${version}` : type, weight: weight >= 0 && weight <= 1 ? weight : 0 };
}

/**
 * Returns the same metrics under the rules of OpenMetrics. Each inherits from the registered one: to write a counter, prom-client permanently cuts `_total`
 * from its name, which the next scrape in the text format would miss.
 */
function openMetricsOf(registry: Registry): Registry<OpenMetricsContentType> {
  const view = new Registry<OpenMetricsContentType>();
  view.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = registry.getSingleMetric(name);
    if (metric) view.registerMetric(heirOf(metric));
  }
  return view;
}

function heirOf(metric: Metric): Metric {
  const heir: Metric = Object.create(metric);
  return heir;
}
