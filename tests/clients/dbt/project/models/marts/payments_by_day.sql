{{ config(materialized='incremental', unique_key='day', incremental_strategy='delete+insert') }}
select cast(paid_at as date) as day, count(*) as payments, sum(amount) as amount
from {{ ref('stg_payments') }}
{% if is_incremental() %}
where paid_at >= (select max(day) from {{ this }})
{% endif %}
group by 1
