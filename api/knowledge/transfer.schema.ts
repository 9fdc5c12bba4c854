import Type from 'typebox';
import { closed, idOf, oneOf } from '../http/input/schema.ts';

export const TransferParams = closed({ kb_id: idOf('KnowledgeBase') });

export const KnowledgeExport = closed(
  {
    include_vectors: Type.Optional(Type.Boolean({ default: false, description: 'For a base with the same embedding model' })),
    include_grants: Type.Optional(Type.Boolean({ default: false })),
  },
  { $id: 'KnowledgeExport' },
);

export const KnowledgeImport = closed(
  {
    attachment_id: idOf('Attachment', 'A bundle that an export wrote'),
    mode: Type.Optional(
      oneOf(['create', 'upsert'], {
        default: 'create',
        description: 'What becomes of an item whose external id, or else content, the base has: an error of its line, or its fields change',
      }),
    ),
    dry_run: Type.Optional(Type.Boolean({ default: false, description: 'Counts and reports errors, and writes nothing' })),
    keep_state: Type.Optional(
      Type.Boolean({ default: false, description: 'New items keep curation state, trust and origin; else they are pending' }),
    ),
    include_grants: Type.Optional(Type.Boolean({ default: false, description: 'Grants to principals that exist here' })),
  },
  { $id: 'KnowledgeImport' },
);
