-- The first frame of a run without a parent is written with its row, by the app itself; append_frames writes and numbers all others.
alter policy app_insert on run_frame_chunks with check (first_seq = 1 and last_seq = 1 and cardinality(frames) = 1 and ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))));
grant insert on run_frame_chunks to longhaul_app;
