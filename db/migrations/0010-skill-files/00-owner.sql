-- A skill holds its files, in its own place.

alter table attachments alter column workspace_id drop not null;
alter table attachment_links alter column workspace_id drop not null;
alter table attachment_links drop constraint attachment_links_owner_kind_check;
alter table attachment_links add constraint attachment_links_owner_kind_check check (owner_kind in ('run', 'source', 'knowledge_run', 'evaluation', 'skill'));
