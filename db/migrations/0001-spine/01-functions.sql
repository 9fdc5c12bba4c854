-- What the policies read. Without missing_ok: a statement outside a tenant is an error, never an answer.

create function app_org() returns uuid language sql stable parallel safe return nullif(current_setting('app.org'), 'none')::uuid;
create function app_user() returns uuid language sql stable parallel safe return nullif(current_setting('app.user'), 'none')::uuid;
create function app_ws() returns uuid[] language sql stable parallel safe return current_setting('app.ws')::uuid[];
create function app_ws_all() returns boolean language sql stable parallel safe return current_setting('app.ws_all')::boolean;
create function app_operator() returns boolean language sql stable parallel safe return current_setting('app.operator')::boolean;
