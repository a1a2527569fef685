select 'customer' as kind, name as label, total as amount from {{ ref('customers') }}
union all
select 'day', cast(day as varchar), amount from {{ ref('orders_by_day') }}
