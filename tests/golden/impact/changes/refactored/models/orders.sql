-- the same through a CTE, in another order of columns
with joined as (
    select c.city, c.email, o.placed_on, o.amount * 2 as gross, o.order_id
    from {{ ref('stg_orders') }} o
    join {{ ref('stg_customers') }} c on c.customer_id = o.customer_id
)
select gross, order_id, placed_on, email, city from joined
