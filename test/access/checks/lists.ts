import { isDeepStrictEqual } from 'node:util';
import type { RegisteredOperation } from '../../../api/http/operation/operation.ts';
import { querySchemaOf } from '../../../api/http/reply/page.ts';
import { aim } from '../aim.ts';
import { asObject } from '../requests.ts';
import { comparable, told, type Fault, type Sent, type Stage } from '../stage.ts';
import type { Actor } from '../world/actors.ts';
import { insidersOf, withQuery } from './foreign.ts';

/** G7: filters, cursors and totals of every list tell nothing of other tenants' rows. */
export async function listFaults(stage: Stage, operations = stage.operations): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const operation of operations.filter(({ kind, access }) => kind === 'list' && access !== 'none')) {
    for (const actor of insidersOf(stage, operation)) {
      const { url } = await aim(stage, operation, { actor, ground: stage.world.ground, isFresh: false });
      const look: Look = {
        stage,
        operation,
        actor,
        url,
        note: (fault) => faults.push({ operation: operation.operationId, fault: `${actor.name}, ${fault}` }),
      };
      if ((await get(look, url)).status !== 200) continue;
      await judgeFilters(look);
      await judgeTotal(look);
      await judgeCursors(look);
    }
  }
  return faults;
}

interface Look {
  readonly stage: Stage;
  readonly operation: RegisteredOperation;
  readonly actor: Actor;
  readonly url: string;
  readonly note: (fault: string) => void;
}

const get = ({ stage, operation, actor }: Look, url: string, reader: Actor = actor): Promise<Sent> =>
  stage.send(operation, reader, { url });

/** Words that stand in rows of B alone find what words of nobody find. */
async function judgeFilters(look: Look): Promise<void> {
  const { operation, url, note } = look;
  const unknown = await get(look, withQuery(url, 'no_such_filter', '1'));
  if (unknown.status !== 422) note(`an unknown filter is taken: ${told(unknown)}`);

  for (const [name, schema] of Object.entries(querySchemaOf(operation).properties)) {
    if (!isText(asObject(schema)) || name === 'cursor') continue;
    const foreign = await get(look, withQuery(url, name, 'canary.b'));
    const ofNobody = await get(look, withQuery(url, name, 'canary.z'));
    if (!isDeepStrictEqual(comparable(foreign), comparable(ofNobody))) note(`${name} finds words of B: ${told(foreign)}`);
  }
}

function isText(schema: Readonly<Record<string, unknown>>): boolean {
  const isFree = schema['enum'] === undefined && schema['x-extensible-enum'] === undefined && schema['format'] === undefined;
  return schema['type'] === 'string' && isFree && schema['x-id-of'] === undefined;
}

/** The total is the number of rows that paging shows. */
async function judgeTotal(look: Look): Promise<void> {
  const { operation, url, note } = look;
  if (!('offset' in querySchemaOf(operation).properties)) return;
  const whole = await get(look, withQuery(withQuery(url, 'offset', '0'), 'limit', '200'));
  const items = whole.body?.['items'];
  const total = whole.body?.['total'];
  const shown = Array.isArray(items) ? items.length : -1;
  if (shown < 200 && total !== shown) note(`total is ${String(total)}, but ${shown} rows are shown`);
}

/** A cursor is worth nothing to anybody else, nor in another list. */
async function judgeCursors(look: Look): Promise<void> {
  const { stage, operation, url, note } = look;
  if (!('cursor' in querySchemaOf(operation).properties)) return;
  const { ground } = stage.world;
  const owner = stage.world.actor('owner B');
  const theirs = await aim(stage, operation, {
    actor: owner,
    ground: { ...ground, organization: ground.foreign, home: ground.foreignHome },
    isFresh: false,
  });
  const page = await get(look, withQuery(theirs.url, 'limit', '1'), owner);
  const cursor = page.body?.['next_cursor'];
  if (typeof cursor !== 'string') return;
  const foreign = await get(look, withQuery(url, 'cursor', cursor));
  if (foreign.status !== 422 || foreign.code !== 'cursor_invalid') note(`a cursor of B is taken: ${told(foreign)}`);
}
