create schema raw;
create table raw.adm_2025 (id int primary key, patient text, ward text, arrived timestamp, discharged timestamp);
create table raw.lab_results (admission int, test text, value numeric, unit text, taken_at timestamp);
insert into raw.adm_2025 values
    (1, 'p1', 'W1', '2025-11-01 08:00', '2025-11-04 12:00'),
    (2, 'p2', 'W2', '2025-11-02 09:00', null);
insert into raw.lab_results values
    (1, 'crp', 12.5, 'mg/l', '2025-11-01 09:00'),
    (1, 'crp', 4.0, 'mg/l', '2025-11-03 09:00'),
    (2, 'hb', 13.1, 'g/dl', '2025-11-02 10:00');
