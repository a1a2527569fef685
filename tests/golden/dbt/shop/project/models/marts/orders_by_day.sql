{{ config(materialized='incremental', unique_key='day', incremental_strategy='delete+insert') }}
select
    cast(ordered_at as date) as day,
    count(*) as orders,
    sum(amount) as amount
from {{ ref('stg_orders') }}
{% if is_incremental() %}
where ordered_at >= (select max(day) from {{ this }})
{% endif %}
group by 1
