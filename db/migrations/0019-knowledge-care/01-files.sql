-- Which bases a file is content of is asked whenever one is downloaded.
create index knowledge_runs_attachment_idx on knowledge_runs (attachment_id) where attachment_id is not null;
create index knowledge_sources_attachment_idx on knowledge_sources (attachment_id) where attachment_id is not null;
