import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pythonPackages, runPython } from '../support/python-packages.ts';

/** A span as a collector receives it. */
export interface CollectedSpan {
  /** `service.name` of its resource. */
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: none. */
  readonly parentSpanId: string;
  readonly name: string;
  /** As OTLP names them: `SPAN_KIND_CLIENT` … */
  readonly kind: string;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly status: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A collector of traces: OTLP over HTTP, protobuf (opentelemetry.io/docs/specs/otlp), read by the messages of OpenTelemetry's own Python package. */
export interface OtlpCollector {
  /** What `OTEL_EXPORTER_OTLP_ENDPOINT` names. */
  readonly endpoint: string;
  /** Headers of the exports, newest last. */
  readonly headers: readonly Readonly<Record<string, string | string[] | undefined>>[];
  /** All spans so far, in the order of their arrival. */
  spans(): CollectedSpan[];
  /** Answers every export with this status from now on; 200 takes them. */
  answerWith(status: number): void;
  close(): Promise<void>;
}

const program = `
import json, struct, sys
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
data, at, spans = sys.stdin.buffer.read(), 0, []
def value(v):
  kind = v.WhichOneof('value')
  if kind == 'array_value': return [value(e) for e in v.array_value.values]
  return getattr(v, kind) if kind else None
def attributes(entries): return {e.key: value(e.value) for e in entries}
while at < len(data):
  (length,) = struct.unpack_from('>I', data, at)
  request = ExportTraceServiceRequest.FromString(data[at + 4:at + 4 + length])
  at += 4 + length
  for group in request.resource_spans:
    for scope in group.scope_spans:
      for s in scope.spans:
        spans.append({'service': attributes(group.resource.attributes).get('service.name'), 'traceId': s.trace_id.hex(), 'spanId': s.span_id.hex(),
          'parentSpanId': s.parent_span_id.hex(), 'name': s.name, 'kind': Span.SpanKind.Name(s.kind), 'start': str(s.start_time_unix_nano),
          'end': str(s.end_time_unix_nano), 'status': Status.StatusCode.Name(s.status.code), 'attributes': attributes(s.attributes)})
print(json.dumps(spans))
`;

const packages = { requirements: 'opentelemetry.requirements.txt', folder: 'opentelemetry-proto-1.45.2' };

export async function startOtlpCollector(): Promise<OtlpCollector> {
  // Python blocks this process, and exporters drop what is not taken within ten seconds: so it is installed first, and reads each export once.
  pythonPackages(packages);
  const unread: Buffer[] = [];
  const read: CollectedSpan[] = [];
  const headers: Record<string, string | string[] | undefined>[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (status === 200 && request.url === '/v1/traces') {
        headers.push(request.headers);
        unread.push(Buffer.concat(parts));
      }
      response.writeHead(request.url === '/v1/traces' ? status : 404, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP

  return {
    endpoint: `http://127.0.0.1:${port}`,
    headers,
    spans() {
      const bodies = unread.splice(0);
      if (bodies.length > 0) read.push(...decode(bodies));
      return [...read];
    },
    answerWith(next) {
      status = next;
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function decode(bodies: readonly Buffer[]): CollectedSpan[] {
  const input = Buffer.concat(bodies.flatMap((body) => [lengthOf(body), body]));
  const spans = JSON.parse(runPython(program, { ...packages, input })) as (CollectedSpan & { start: string; end: string })[]; // as the program writes
  return spans.map(({ start, end, ...span }) => ({ ...span, startNs: BigInt(start), endNs: BigInt(end) }));
}

function lengthOf(body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return length;
}
