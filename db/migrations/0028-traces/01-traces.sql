alter table runs add column trace text;
