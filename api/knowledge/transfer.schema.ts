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
        description:
          'What happens to an item whose external id, or otherwise content, already exists in the base: its line is an error, or the existing item is updated',
      }),
    ),
    dry_run: Type.Optional(Type.Boolean({ default: false, description: 'Only counts and reports errors, and writes nothing' })),
    keep_state: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether new items keep their curation state, trust and origin; otherwise they are pending',
      }),
    ),
    include_grants: Type.Optional(Type.Boolean({ default: false, description: 'Grants to principals that exist here' })),
  },
  { $id: 'KnowledgeImport' },
);
