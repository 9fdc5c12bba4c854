import { seeAttachment } from '../../db/attachments/attachments.ts';
import { uploaderOf } from '../../db/actor-ref.ts';
import { insertAttachment } from '../../domain/attachments/attachments.ts';
import { openReadOnly } from '../../db/transaction.ts';
import { resolveNewRowWorkspace } from '../../db/new-row-scope.ts';
import { area, post, raw } from '../http/operation/operation.ts';
import { bytes } from '../http/input/schema.ts';
import {
  AttachmentAsJson,
  AttachmentForm,
  AttachmentParams,
  AttachmentView,
  DownloadHeaders,
  toAttachmentView,
} from './attachment.schema.ts';
import { sendBytes } from './download.ts';
import { receiveUpload } from './upload.ts';

export const attachments = area('Attachments', {
  createAttachment: post(
    '/attachments',
    {
      summary: 'Upload a file',
      description:
        'Stores one file from a multipart form. Its type is detected from its first bytes; programs and unknown types are refused with 415. A file that nothing uses within 24 hours is deleted.',
      access: 'member',
      audit: 'create',
      idempotent: true,
      multipart: true,
      maxBodyBytes: (env) => env.attachments.maxBytes,
      location: (view: { readonly id: string }) => `/attachments/${view.id}`,
      example: { body: { file: 'Meeting notes', purpose: 'run_input' } },
      body: AttachmentForm,
      view: AttachmentView,
      identify: receiveUpload,
    },
    async (ctx, { identified }) => {
      const { body, storageKey } = identified;
      const rowScope = await resolveNewRowWorkspace(ctx, body.workspace_id);
      const row = await insertAttachment(ctx, {
        ...rowScope,
        ...body.file,
        storageKey,
        purpose: body.purpose ?? 'run_input',
        isScanned: ctx.deps.env.attachments.scan !== null,
        createdBy: uploaderOf(ctx.caller),
      });
      ctx.audit({
        resourceType: 'attachment',
        resourceId: row.id,
        label: row.filename,
        organizationId: row.organizationId,
        workspaceId: row.workspaceId,
      });
      return toAttachmentView(row);
    },
  ),

  getAttachment: raw(
    '/attachments/{attachment_id}',
    {
      summary: 'Download a file',
      description:
        'Returns the bytes as a download; supports range and conditional requests, with the SHA-256 as ETag. With exactly Accept: application/json, returns the metadata of the file instead. Visible to callers who can see the run or skill that uses it or can read the knowledge base made from it; otherwise to its uploader and to admins, but not to admins if that base is private.',
      access: 'viewer',
      fails: ['state_conflict'],
      params: AttachmentParams,
      headers: DownloadHeaders,
      produces: 'application/octet-stream',
      alsoProduces: { '*/*': bytes('The file, under its own type'), 'application/json': AttachmentAsJson },
      success: [200, 206],
    },
    async ({ caller, floor, correlationId, deps, tenant, actor }, { params }, http) => {
      const { tx } = openReadOnly(deps.db, { tenant, actor, correlationId });
      const row = await seeAttachment({ ...tx, caller, floor }, params.attachment_id);
      if (http.request.headers.accept === 'application/json') {
        http.reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(toAttachmentView(row)));
        return;
      }
      await sendBytes(http, deps.storage, row);
    },
  ),
});
