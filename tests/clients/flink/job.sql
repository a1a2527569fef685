SET 'execution.runtime-mode' = 'batch';
SET 'table.dml-sync' = 'true';
CREATE TABLE orders (id INT, customer STRING, status STRING, amount DOUBLE, ordered_on STRING)
  WITH ('connector' = 'filesystem', 'path' = 'file://@HOME@/orders', 'format' = 'csv');
CREATE TABLE totals (ordered_on STRING, orders BIGINT, total DOUBLE)
  WITH ('connector' = 'filesystem', 'path' = 'file://@HOME@/totals', 'format' = 'json');
CREATE TABLE clicks (customer STRING, page STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '5');
CREATE TABLE visits (customer STRING, pages BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE clients (name STRING, city STRING)
  WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://@POSTGRES@', 'table-name' = 'clients', 'username' = '@USER@', 'password' = 'unused');
CREATE TABLE city_totals (city STRING, total DOUBLE, PRIMARY KEY (city) NOT ENFORCED)
  WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://@POSTGRES@', 'table-name' = 'city_totals', 'username' = '@USER@', 'password' = 'unused');
CREATE TABLE paid (id INT, amount DOUBLE)
  WITH ('connector' = 'kafka', 'topic' = 'paid', 'properties.bootstrap.servers' = '@KAFKA@', 'format' = 'json',
        'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset');
CREATE TABLE big_orders (id INT, amount DOUBLE)
  WITH ('connector' = 'filesystem', 'path' = 'file://@HOME@/big_orders', 'format' = 'csv');
INSERT INTO orders VALUES (1, 'Ada', 'paid', 12.5, '2026-01-01'), (2, 'Emmy', 'open', 4.0, '2026-01-02');
INSERT INTO totals SELECT ordered_on, COUNT(*), SUM(amount) FROM orders WHERE status = 'paid' GROUP BY ordered_on;
INSERT INTO visits SELECT customer, COUNT(DISTINCT page) FROM clicks GROUP BY customer;
INSERT INTO city_totals SELECT c.city, SUM(o.amount) FROM orders AS o JOIN clients AS c ON c.name = o.customer GROUP BY c.city;
INSERT INTO paid SELECT id, amount FROM orders WHERE status = 'paid';
INSERT INTO big_orders SELECT id, amount FROM paid WHERE amount > 10;
