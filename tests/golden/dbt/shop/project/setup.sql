create schema if not exists web;
create table web.page_visits as
select * from (values (1, '/', timestamp '2025-11-10 09:58:00'), (null, '/about', timestamp '2025-11-10 09:59:00'))
    as t (visitor, page, seen_at);
