import type { Static } from 'typebox';
import { streamProtocol } from '../../workflows/contracts/runs/frames.ts';
import type { ApiEnv } from '../env.ts';
import { contractVersion } from '../http/openapi/openapi.ts';
import { closed, integer, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

export const agentImportSchemaVersion = 1;

export const VersionView = closed(
  {
    product: oneOf(['longhaul']),
    contract_version: oneOf([contractVersion]),
    stream_protocol: integer({ minimum: 1, maximum: 1_000, description: 'Version of the frames' }),
    agent_import_schema_version: integer({ minimum: 1, maximum: 1_000 }),
    build: closed({ version: text(60), commit: nullable(text(64)), built_at: nullable(Timestamp) }),
  },
  { $id: 'VersionView', description: 'The running build' },
);

export function toVersionView(build: ApiEnv['build']): Static<typeof VersionView> {
  return {
    product: 'longhaul',
    contract_version: contractVersion,
    stream_protocol: streamProtocol,
    agent_import_schema_version: agentImportSchemaVersion,
    build: { version: build.version, commit: build.commit, built_at: build.builtAt },
  };
}
