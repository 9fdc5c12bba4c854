import type { RegisteredOperation } from '../../api/http/operation/operation.ts';
import { newServiceKeyPlaintext, serviceKeyHash, shownEnds } from '../../db/identity/keys/service-key-format.ts';
import type { Stage } from '../access/stage.ts';
import type { Actor, Ground } from '../access/world/actors.ts';
import { targetsOf } from '../access/aim.ts';
import { bearer } from '../support/tenant.ts';

/** Whose requests are played: the owner of an organization, a key with the least role that can write, and an operator. */
export const credentialNames = ['owner', 'key', 'operator'] as const;
export type CredentialName = (typeof credentialNames)[number];

const actorNames = { owner: 'owner A', key: 'key A1', operator: 'operator' } as const satisfies Record<CredentialName, string>;

/** Operations that end or lame the credential that calls them. Each of their requests brings a new one. */
const ending: Readonly<Record<string, string>> = {
  logout: 'ends the session',
  changePassword: 'changes what the session was verified by',
  enrolTotp: 'the session then needs the second factor',
  confirmTotp: 'the session then needs the second factor',
  removeTotp: 'changes what the session was verified by',
  regenerateRecoveryCodes: 'the aim changes what the session was verified by',
  transferOwnership: 'takes the role of the caller',
};

/** A session must be as fresh as what it changes demands. */
const maxAgeMs = 120_000;

/** Gives a credential for each request. */
interface Credentials {
  forOperation(operation: RegisteredOperation, ground: Ground): Promise<Actor>;
}

export function createCredentials(stage: Stage, name: CredentialName): Credentials {
  let standing: { actor: Promise<Actor>; until: number } | null = null;
  const enter = async (ground: Ground) => {
    const actor = await stage.world.enter(stage.world.actor(actorNames[name]), ground);
    return name === 'key' ? { ...actor, headers: await memberKey(stage, ground) } : actor;
  };

  return {
    forOperation(operation, ground) {
      const isOfPlace =
        operation.method !== 'GET' && targetsOf(operation).some(({ table }) => ['organizations', 'workspaces'].includes(table));
      if (isOfPlace || ending[operation.operationId] !== undefined) return enter(ground);
      if (standing === null || standing.until < Date.now()) standing = { actor: enter(ground), until: Date.now() + maxAgeMs };
      return standing.actor;
    },
  };
}

/** A key of a workspace with role member: below it nobody writes. */
async function memberKey({ world }: Stage, { home }: Ground): Promise<Record<string, string>> {
  const plaintext = newServiceKeyPlaintext();
  await world.rows.make('service_keys', home, {
    ...shownEnds(plaintext),
    role: 'member',
    key_hash: serviceKeyHash(plaintext, world.base.keys.peppers),
  });
  return bearer(plaintext);
}
