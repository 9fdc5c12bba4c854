import { createClientDocuments } from '../../ports/egress/client-documents.ts';
import { areaDependency } from '../http/operation/area-dependency.ts';
import type { Deps } from '../http/operation/deps.ts';

/** Reads the metadata documents of clients whose id is a URL. */
export const clientDocumentsOf = areaDependency(({ egress, now }: Pick<Deps, 'egress' | 'now'>) => createClientDocuments({ egress, now }));
