select o.order_id, o.amount * 2 as gross, o.placed_on, c.mail as email, c.city
from {{ ref('stg_orders') }} o
join {{ ref('stg_customers') }} c on c.customer_id = o.customer_id
