-- What live sessions count as verified by. No tenant is known here, so that the sweeper writes.
set local role longhaul_sweeper;

-- A factor that was removed counts for nothing.
update sessions s set mfa_level = 'none'
where s.mfa_level <> 'none' and s.revoked_at is null
  and not exists (select from totp_factors f where f.user_id = s.user_id and f.confirmed_at is not null);

-- A grant counts as verified by the factor where every session that could have approved it was: it was made after the factor was confirmed, and no
-- session with the password alone lived on beside.
update sessions g set mfa_level = 'totp'
from totp_factors f
where g.kind = 'oauth' and g.revoked_at is null and f.user_id = g.user_id and g.created_at >= f.confirmed_at
  and not exists (
    select from sessions l
    where l.user_id = g.user_id and l.kind = 'login' and l.mfa_level = 'none' and l.created_at <= g.created_at
      and coalesce(l.revoked_at, least(l.idle_expires_at, l.expires_at)) >= f.confirmed_at);

reset role;
