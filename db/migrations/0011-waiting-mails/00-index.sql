-- Mails that are not settled are counted at every scrape.

create index outbox_mails_idx on outbox (created_at) where kind = 'mail' and payload -> 'settled' is null;
