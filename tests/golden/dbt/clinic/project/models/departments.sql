{{ config(materialized='view', alias='department_load') }}
select
    w.department,
    sum(w.beds) as beds,
    (select avg(s.days) from {{ ref('stays') }} s where s.department = w.department) as days_on_average
from {{ ref('wards') }} w
group by w.department
having sum(w.beds) > 0
