select id as order_id, customer_id, amount, status, placed as placed_on
from {{ ref('raw_orders') }}
where status <> 'void' and amount > 0
