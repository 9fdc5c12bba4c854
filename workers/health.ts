import { createServer, type RequestListener } from 'node:http';
import type { Registry } from 'prom-client';
import { metricsPage } from '../ports/metrics/exposition.ts';

export interface HealthOptions {
  readonly host: string;
  readonly port: number;
  readonly isReady: () => Promise<boolean>;
  /** Stays true from the first time that the worker was ready. */
  readonly isStarted: () => boolean;
  readonly metrics: Registry;
}

/**
 * Serves `/health/live`, `/health/startup` and `/health/ready` (startup and ready reply 503 until the worker has started or is ready) and `/metrics` of a
 * worker, on an address of the operator's own network.
 */
export async function serveHealth({ host, port, isReady, isStarted, metrics }: HealthOptions): Promise<() => void> {
  const answer: RequestListener = (request, response) => {
    // Some scrapers and balancers append a query to the path.
    switch (request.url?.split('?')[0]) {
      case '/health/live':
        response.end('ok');
        return;
      case '/health/startup':
        response.writeHead(isStarted() ? 200 : 503).end(isStarted() ? 'started' : 'starting');
        return;
      case '/':
      case '/health/ready':
        isReady().then(
          (ready) => response.writeHead(ready ? 200 : 503).end(ready ? 'ready' : 'not ready'),
          () => response.writeHead(503).end('not ready'),
        );
        return;
      case '/metrics':
        metricsPage(metrics, request.headers.accept).then(
          ({ contentType, body }) => response.writeHead(200, { 'content-type': contentType, 'vary': 'Accept' }).end(body),
          () => response.writeHead(500).end(),
        );
        return;
      default:
        response.writeHead(404).end();
    }
  };
  const server = createServer(answer);

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return () => void server.close();
}
