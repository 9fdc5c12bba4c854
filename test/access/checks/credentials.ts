import type { RegisteredOperation } from '../../../api/http/operation/operation.ts';
import { isRoleAccess } from '../../../api/http/credentials/scopes.ts';
import { rankOf } from '../../../workflows/contracts/access.ts';
import { pathParametersOf, pathWith } from '../requests.ts';
import { told, type Fault, type Sent, type Stage } from '../stage.ts';
import { actorSpecs } from '../world/actors.ts';

// None of these requests is right in anything but its route: what is judged before the shape shows alone.
const badBody = { no_such_field: 1 };

/** G1 and the first half of G2: what is refused is refused before anything of the request is looked at. */
export async function credentialFaults(stage: Stage, operations = stage.operations): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const operation of operations) {
    const judge = (what: string, sent: Sent, isRight: boolean) => {
      if (!isRight) faults.push({ operation: operation.operationId, fault: `${what}: ${told(sent)}` });
    };
    if (isRoleAccess(operation)) await judgeCredentials(stage, operation, judge);
    else if (operation.access === 'none' && operation.operationId !== 'verifyMfa') await judgeIgnored(stage, operation, judge);
  }
  return faults;
}

type Judge = (what: string, sent: Sent, isRight: boolean) => void;

async function judgeCredentials(stage: Stage, operation: RegisteredOperation, judge: Judge): Promise<void> {
  const { world } = stage;
  const send = (name: string, headers: Record<string, string> = {}) =>
    stage.send(operation, world.actor(name), { ...misshapen(operation), headers });
  const [none, expired, garbled] = [await send('nobody'), await send('expired'), await send('nobody', { authorization: 'Bearer garbled' })];
  judge('without credential', none, none.status === 401 && none.code === 'unauthenticated');
  judge('with an expired token', expired, expired.status === 401 && expired.code === 'token_expired');
  judge('with a garbled token', garbled, garbled.status === 401 && garbled.code === 'credential_invalid');
  const key = String(world.actor('key A1').headers['authorization']).replace('Bearer ', '');
  const two = await send('owner A', { 'x-api-key': key });
  judge('with two credentials', two, two.status === 400 && two.code === 'malformed_request');

  if (!isRoleAccess(operation)) return;
  const floor = rankOf(operation.access);
  for (const spec of actorSpecs.filter(({ kind }) => kind === 'user' || kind === 'key')) {
    const sent = await send(spec.name);
    const isBelow = rankOf(spec.role ?? 'viewer') < floor;
    if (isBelow) judge('below the floor, with an invalid request', sent, sent.status === 403 && sent.code === 'role_insufficient');
  }
}

/** A credential on an operation that needs none is not looked at. */
async function judgeIgnored(stage: Stage, operation: RegisteredOperation, judge: Judge): Promise<void> {
  const ask = misshapen(operation);
  const [plain, garbled] = [
    await stage.send(operation, stage.world.actor('nobody'), ask),
    await stage.send(operation, stage.world.actor('nobody'), { ...ask, headers: { authorization: 'Bearer garbled' } }),
  ];
  judge('needs no credential, yet is refused with a bad one', garbled, garbled.status === plain.status && plain.status !== 401);
}

function misshapen(operation: RegisteredOperation): { url: string; body?: unknown } {
  const params = Object.fromEntries(pathParametersOf(operation).map(({ name }) => [name, crypto.randomUUID()]));
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(operation.method);
  return { url: `${pathWith(operation, params)}?no_such_parameter=1`, ...(hasBody ? { body: badBody } : {}) };
}
