import { setTimeout as delay } from 'node:timers/promises';
import type { RecordedExample } from '../../api/http/openapi/examples.ts';
import type { RegisteredOperation } from '../../api/http/operation/operation.ts';
import { aim, groundFor, idsIn, targetsOf } from '../access/aim.ts';
import { expectedOf } from '../access/expected.ts';
import { asObject, pathParametersOf, pathWith, withIds } from '../access/requests.ts';
import { told, type Ask, type Sent, type Stage } from '../access/stage.ts';
import { actorSpecs, type Actor, type ActorSpec, type Ground } from '../access/world/actors.ts';
import type { Seen } from './recorded.ts';
import { situations } from './situations.ts';
import { createStable } from './stable.ts';

/** The rows that the play has made so far, by the kind that schemas name: later operations show them. */
export type Made = Map<string, string>;

export interface Play {
  readonly stage: Stage;
  readonly made: Made;
  readonly seen: Seen;
  /** What went wrong, by operation. */
  readonly faults: string[];
}

/** One try of an operation: who asks for what. */
interface Try {
  readonly actor: Actor;
  readonly ask: Ask;
  readonly params: Readonly<Record<string, string>>;
}

/** Streams without an end: their examples are sequences of frames, which `test/contract/reference.test.ts` holds against the protocol. */
const endless: ReadonlySet<string> = new Set(['streamRun', 'streamMcp']);
/** What runs an agent, whose revision has to be active by then. */
const needRevision: ReadonlySet<string> = new Set(['Runs', 'Evaluations']);
/** Whoever does these may be signed out afterwards. */
const ofPerson: ReadonlySet<string> = new Set(['Sessions', 'Authentication']);

/** Plays every operation once: what creates first, what deletes last, so that reads show what the documented bodies have made. */
export async function playAll(stage: Stage): Promise<Play> {
  const play: Play = { stage, made: new Map(), seen: new Map(), faults: [] };
  const rank = ({ area }: RegisteredOperation) => (needRevision.has(area) ? 1 : ofPerson.has(area) ? 2 : 0);
  const phase = (operation: RegisteredOperation) =>
    operation.method === 'DELETE' ? 9 : isCreation(operation) ? 0 : operation.method === 'GET' ? 2 : 1;
  const order = stage.operations.toSorted((left, right) => rank(left) - rank(right) || phase(left) - phase(right));
  await stage.api.app.inject({
    method: 'POST',
    url: '/tools',
    headers: { ...stage.world.actor('owner A1').headers },
    payload: { slug: 'web_fetch', kind: 'web_fetch', description: 'Reads the page at an address.' },
  });
  for (const operation of order.filter(({ operationId }) => !endless.has(operationId))) await playOne(play, operation);
  return play;
}

function isCreation({ method, operationId }: RegisteredOperation): boolean {
  return method === 'POST' && /^(?:create|register|put|publish)/.test(operationId);
}

async function playOne(play: Play, operation: RegisteredOperation): Promise<void> {
  const refused: string[] = [];
  for await (const { actor, ask, params } of triesOf(play, operation)) {
    const at = Date.now();
    const sent = await patiently(() => play.stage.send(operation, actor, ask));
    if (sent.status >= 400) {
      refused.push(told(sent));
      continue;
    }
    remember(play, operation, sent);
    note(play.seen, operation, { ask, params, sent, at });
    return;
  }
  play.faults.push(`${operation.operationId}: ${[...new Set(refused)].join('; ')}`);
}

/** Asks again what a busy machine had no room for. */
async function patiently(send: () => Promise<Sent>): Promise<Sent> {
  for (let tries = 1; ; tries++) {
    const sent = await send();
    if (sent.status !== 503 || tries === 20) return sent;
    await delay(250);
  }
}

/** The documented body over rows of the play, then over rows of its own, then whatever the access tests send. */
async function* triesOf({ stage, made }: Play, operation: RegisteredOperation): AsyncGenerator<Try> {
  const own = situations[operation.operationId];
  for (const spec of whoSucceeds(operation)) {
    const isRead = operation.method === 'GET';
    const ground = await groundFor(stage, operation);
    const isShared = (isRead || ground === stage.world.ground) && !ofPerson.has(operation.area);
    const actor = isShared ? stage.world.actor(spec.name) : await stage.world.enter(spec, ground);
    if (own) {
      const ask = await own({ stage, actor, ground, made });
      yield { actor, ask: { ...ask, url: pathWith(operation, ask.params ?? {}) + (ask.search ?? '') }, params: ask.params ?? {} };
      continue;
    }
    for (const params of [madeParams(operation, made), null]) {
      const aimed = await aim(stage, operation, { actor, ground, isFresh: !isRead });
      const path = params ?? paramsOf(operation, aimed.url);
      const url = pathWith(operation, path) + (aimed.url.includes('?') ? aimed.url.slice(aimed.url.indexOf('?')) : '');
      for (const body of params === null && !operation.body ? [aimed.body] : bodiesOf(stage, operation, { actor, ground, made, aimed }))
        yield { actor, params: path, ask: { ...aimed, url, body } };
    }
  }
}

/** Who is answered with a success, the nearest to a newcomer first. */
function whoSucceeds(operation: RegisteredOperation): ActorSpec[] {
  const preferred = ['owner A1', 'owner A', 'operator', 'nobody', 'operator in A'];
  return preferred.flatMap((name) => {
    const spec = actorSpecs.find((candidate) => candidate.name === name);
    return spec && (expectedOf(operation, spec).status < 300 || situations[operation.operationId]) ? [spec] : [];
  });
}

/** The path over rows of the play; null unless they name all of it. */
function madeParams(operation: RegisteredOperation, made: Made): Record<string, string> | null {
  const kinds = pathParametersOf(operation);
  const found = kinds.flatMap(({ name, kind }) => {
    const id = kind === null ? undefined : made.get(kind);
    return id === undefined ? [] : [[name, id] as const];
  });
  return found.length === kinds.length && targetsOf(operation).length > 0 ? Object.fromEntries(found) : null;
}

function paramsOf(operation: RegisteredOperation, url: string): Record<string, string> {
  const values = url.split('?')[0]?.split('/') ?? [];
  return Object.fromEntries(
    operation.path
      .split('/')
      .flatMap((piece, index) => (piece.startsWith('{') ? [[piece.slice(1, -1), decodeURIComponent(values[index] ?? '')]] : [])),
  );
}

let count = 0;

function bodiesOf(
  stage: Stage,
  operation: RegisteredOperation,
  { actor, ground, made, aimed }: { actor: Actor; ground: Ground; made: Made; aimed: Ask },
): unknown[] {
  const documented = operation.example?.body;
  if (!operation.body || documented === undefined || typeof aimed.body === 'string') return [aimed.body];
  const own = actor.sight === 'everything' || actor.sight === 'organization' ? ground.home : actor.home;
  const standing = idsIn(stage, own);
  const body = withIds(operation.body, documented, (kind) => made.get(kind) ?? standing(kind));
  const workspace = { workspace_id: own.workspaceId ?? undefined };
  return [body, freed(body), { ...asObject(freed(body)), ...workspace }, aimed.body];
}

/** The same with a slug that nobody has yet; the mark is taken off again in the example. */
function freed(body: unknown): unknown {
  const { slug } = asObject(body);
  return typeof slug === 'string' ? { ...asObject(body), slug: `${slug}-zz${++count}` } : body;
}

function remember({ made }: Play, operation: RegisteredOperation, { body, status }: Sent): void {
  const kind = kindOf(operation);
  if (status === 201 && kind !== '' && typeof body?.['id'] === 'string' && !made.has(kind)) made.set(kind, body['id']);
}

/** The kind of row that an operation's view shows: `AgentView` shows an Agent. */
function kindOf(operation: RegisteredOperation): string {
  const name = String(Reflect.get(Object(operation.view), '$id') ?? '');
  return name.replace(/(?:Secret|Detail|Summary)?View$/, '').replace(/^Review(?=Playbook)/, '');
}

/** Keeps an exchange as the example of its operation. */
function note(
  seen: Seen,
  operation: RegisteredOperation,
  {
    ask,
    params,
    sent,
    at,
  }: {
    ask: Pick<Ask, 'url' | 'body'>;
    params: Readonly<Record<string, string>>;
    sent: Pick<Sent, 'status' | 'headers' | 'text' | 'body'>;
    at: number;
  },
): void {
  const body = typeof ask.body === 'string' ? Object.fromEntries(new URLSearchParams(ask.body)) : ask.body;
  const query = Object.fromEntries(new URLSearchParams(ask.url.split('?')[1] ?? ''));
  const kind = kindOf(operation)
    .replace(/^KnowledgeBase$/, 'Kb')
    .replaceAll(/(?<=.)([A-Z])/g, '_$1')
    .toLowerCase();
  const stable = createStable({ operationId: operation.operationId, area: operation.area, kind, at, request: JSON.stringify(body ?? '') });
  const request = asObject(
    stable({ ...(isEmpty(params) ? {} : { path: params }), ...(isEmpty(query) ? {} : { query }), ...(body === undefined ? {} : { body }) }),
  );
  const [type = ''] = String(sent.headers['content-type'] ?? '').split(';');
  const known: RecordedExample | undefined = seen.get(operation.operationId);
  const media =
    sent.text === ''
      ? {}
      : {
          [type]: stable(
            sent.body === null ? shortened(sent.text) : operation.operationId === 'getOpenapi' ? outline(sent.body) : sent.body,
          ),
        };
  seen.set(operation.operationId, {
    request: known?.request ?? request,
    replies: { ...known?.replies, [String(sent.status)]: { ...known?.replies[String(sent.status)], ...media } },
  });
}

/** The outermost members of the served document, which is its own example. */
function outline(document: object): object {
  const empty = (value: unknown) => (Array.isArray(value) ? [] : typeof value === 'object' && value !== null ? {} : value);
  return Object.fromEntries(Object.entries(document).map(([key, value]) => [key, empty(value)]));
}

/** The beginning of a long text, in whole lines. */
function shortened(text: string): string {
  const lines = text.split('\n').slice(0, 40);
  let length = 0;
  const shown = lines.filter((line) => (length += line.length + 1) <= 2_000);
  if (shown.length === 0) return text.slice(0, 400);
  const start = shown.join('\n');
  return start.length === text.length ? start : `${start}\n`;
}

function isEmpty(object: object): boolean {
  return Object.keys(object).length === 0;
}
