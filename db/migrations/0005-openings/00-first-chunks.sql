-- A run's first frames are written with its row, by the app itself; all others are numbered by append_frames.
alter policy app_insert on run_frame_chunks with check (first_seq = 1 and ((select app_operator()) or (organization_id = (select app_org()) and (workspace_id is null or (select app_ws_all()) or workspace_id = any ((select app_ws())::uuid[])))));
grant insert on run_frame_chunks to longhaul_app;
