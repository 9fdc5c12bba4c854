import Type from 'typebox';
import { area, get, list, post, raw, reply, type Area, type Ctx } from '../../api/http/operation/operation.ts';
import { closed, FreeObject, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../../api/http/input/schema.ts';
import { errorCodeNames } from '../../workflows/contracts/error-codes.ts';
import { fail } from '../../workflows/contracts/failure.ts';

const DoneView = closed({ done: integer(), secret: Type.Optional(text(200)) }, { $id: 'DoneView' });
const ProbeView = closed({ name: nullable(text(20)), count: integer(), at: nullable(Timestamp), free: FreeObject }, { $id: 'ProbeView' });
const about = { summary: 'Probe a mechanism', description: 'Exists in tests only, to show one mechanism.' } as const;

const ProbeBody = closed({
  name: text(20, { minLength: 1 }),
  count: Type.Optional(integer({ maximum: 10, default: 3 })),
  id: Type.Optional(idOf('Other')),
  at: Type.Optional(nullable(Timestamp)),
  day: Type.Optional(text(10, { format: 'date' })),
  mail: Type.Optional(text(254, { format: 'email' })),
  link: Type.Optional(text(2_048, { format: 'https-url' })),
  amount: Type.Optional(text(40, { format: 'decimal' })),
  tags: Type.Optional(listOf(text(10), { maxItems: 3 })),
  free: Type.Optional(FreeObject),
});
const ProbeFilters = closed({
  kind: Type.Optional(oneOf(['one', 'two'])),
  tag: Type.Optional(listOf(text(10))),
  flag: Type.Optional(Type.Boolean()),
  size: Type.Optional(integer({ minimum: -5, maximum: 1_000 })),
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
});

/** What a test sees of the handlers' doing, and how it makes them wait or fail. */
export interface ProbeState {
  calls: number;
  faults: Error[];
  onWait: () => Promise<void>;
  /** Called inside the transaction of the operation that is waited for. */
  inTransaction: (ctx: Ctx) => void;
}

/** Operations that only show how `mount` behaves. */
export function probeArea(state: ProbeState): Area {
  return area('System', {
    probeBody: post('/probes', { ...about, access: 'viewer', audit: 'none', body: ProbeBody, view: ProbeView }, async (_ctx, { body }) => {
      state.calls += 1;
      return { name: body.name, count: body.count ?? 0, at: body.at ?? null, free: body.free ?? { id: body.id ?? null } };
    }),
    probeQuery: get('/probes/query', { ...about, access: 'viewer', query: ProbeFilters, view: ProbeView }, async (_ctx, { query }) => ({
      name: null,
      count: 0,
      at: query.from ?? null,
      free: { ...query },
    })),
    probeFailure: get(
      '/probes/failures/{code}',
      {
        ...about,
        access: 'none',
        transaction: 'none',
        fails: errorCodeNames,
        params: closed({ code: oneOf(errorCodeNames) }),
        view: DoneView,
      },
      async (_ctx, { params }) => {
        throw fail(params.code, { reason: 'probed', detail: 'x'.repeat(600) });
      },
    ),
    probeCrash: get('/probes/crash', { ...about, access: 'none', transaction: 'none', view: DoneView }, async () => {
      throw new Error('select secret from vault where id = 7');
    }),
    probeUnserializable: get('/probes/unserializable', { ...about, access: 'none', transaction: 'none', view: DoneView }, async () => ({
      done: 1n as unknown as number,
    })),
    probeStream: raw(
      '/probes/stream',
      { ...about, access: 'none', transaction: 'none', produces: 'text/event-stream', headReply: 'refused' },
      async (_ctx, _input, http) => {
        http.reply.header('content-type', 'text/event-stream').send('data: x\n\n');
      },
    ),
    probeList: list('/probes/list', { ...about, access: 'viewer', view: DoneView, paging: 'offset' }, async () => ({
      items: [],
      next: null,
      total: 0,
    })),
    probeSecret: post(
      '/probes/secrets',
      { ...about, access: 'viewer', audit: 'create', idempotent: true, secretReply: true, view: DoneView },
      async () => {
        state.calls += 1;
        return { done: state.calls, secret: `canary-${crypto.randomUUID()}` };
      },
    ),
    probeFault: post(
      '/probes/faults',
      {
        ...about,
        access: 'viewer',
        audit: 'none',
        idempotent: true,
        fails: errorCodeNames,
        body: closed({ note: Type.Optional(text(20)) }),
        view: DoneView,
      },
      async () => {
        state.calls += 1;
        const fault = state.faults.shift();
        if (fault) throw fault;
        return { done: state.calls };
      },
    ),
    probeOther: post(
      '/probes/others',
      {
        ...about,
        access: 'viewer',
        audit: 'none',
        idempotent: true,
        body: closed({ note: Type.Optional(text(20)) }),
        query: closed({ size: Type.Optional(integer()) }),
        view: DoneView,
      },
      async () => {
        state.calls += 1;
        return { done: state.calls };
      },
    ),
    probeWait: post(
      '/probes/waits',
      { ...about, access: 'viewer', audit: 'create', idempotent: true, view: DoneView, success: [202, 200] },
      async (ctx) => {
        state.calls += 1;
        state.inTransaction(ctx);
        const done = state.calls;
        return reply(
          { done },
          {
            status: 202,
            afterCommit: async () => {
              await state.onWait();
              return reply({ done: done + 1_000 }, { status: 200 });
            },
          },
        );
      },
    ),
  });
}

export function newProbeState(): ProbeState {
  return { calls: 0, faults: [], onWait: async () => undefined, inTransaction: () => undefined };
}
