import type { Calls } from './generated/calls.ts';
import { table } from './generated/table.ts';
import type { RunCreate } from './generated/types.ts';
import { operationOf, outgoing, type Arguments, type OperationId } from './operation.ts';
import type { CallOptions, LonghaulOptions } from './options.ts';
import { pagesOf, type Place } from './pages.ts';
import { valueOf } from './reply.ts';
import { RunStream, type StreamOptions } from './run-stream.ts';
import { RunWork, type Begun } from './run-work.ts';
import { Run } from './run.ts';
import { Transport } from './transport.ts';
import { opened, type Upload } from './upload.ts';

// Its calls are put on the prototype below, one for each row of the table that also makes the interface.
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export interface Longhaul extends Calls {}

/** A deployment, as one caller. Each operation of the contract is a method named by its id. */
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export class Longhaul {
  readonly #transport: Transport;
  readonly #begun: Begun = { calls: new Set(), questions: new Set() };

  constructor(options: LonghaulOptions) {
    this.#transport = new Transport(options);
  }

  /** Starts a run, once however often the request had to be sent. */
  async start(body: RunCreate, options: CallOptions = {}): Promise<Run> {
    const { id } = await this.createRun(body, options);
    return this.run(id);
  }

  /** A run that exists. */
  run(id: string): Run {
    return new Run(this, id);
  }

  /** Any operation by its id, as its method calls it. */
  call(id: OperationId, args: Arguments = {}, options: CallOptions = {}): unknown {
    switch (operationOf(id).reply) {
      case 'page':
        return pagesOf((place) => this.#send(id, { ...args, ...place }, options) as Promise<never>, args as Place); // a page, as the document says
      case 'stream':
        return this.#stream(args as { run_id: string; after_seq?: number; replay?: boolean }, options); // as the call's type says
      default:
        return this.#send(id, args, options);
    }
  }

  async #send(id: OperationId, args: Arguments, options: CallOptions): Promise<unknown> {
    const operation = operationOf(id);
    const given = operation.body === 'upload' ? await withFile(args) : args;
    return valueOf(operation, await this.#transport.send(outgoing(operation, given, options), options));
  }

  #stream(
    { run_id: runId, after_seq: after = 0, replay = true }: { run_id: string; after_seq?: number; replay?: boolean },
    options: StreamOptions,
  ): RunStream {
    const { signal, headers } = options;
    const acts = options.tools !== undefined || options.onApproval !== undefined;
    return new RunStream({
      transport: this.#transport,
      runId,
      after,
      isLiveOnly: !replay,
      options,
      work: acts ? new RunWork(this, { runId, handlers: options, begun: this.#begun, signal }) : null,
      lastSeq: async () => (await this.getRun({ run_id: runId }, { signal, headers })).last_seq,
    });
  }
}

for (const id of Object.keys(table) as OperationId[]) {
  Object.defineProperty(Longhaul.prototype, id, {
    value(this: Longhaul, args?: Arguments, options?: CallOptions) {
      return this.call(id, args, options);
    },
  });
}

async function withFile(args: Arguments): Promise<Arguments> {
  const { file, name } = await opened(args['file'] as Upload); // as the call's type says
  return { filename: name, ...args, file };
}
