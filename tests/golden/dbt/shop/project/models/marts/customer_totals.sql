{{ config(materialized='ephemeral') }}
select customer_id, sum(amount) as total, count(*) as orders, max(ordered_at) as last_ordered_at
from {{ ref('paid_orders') }}
group by customer_id
