-- The last item that another language of its base has had wait for its index; null: all have.
alter table knowledge_bases add column relexed_to uuid;
