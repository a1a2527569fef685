with visits as (
    select customer_id, count(distinct page) as pages
    from {{ ref('stg_visits') }}
    group by 1
)

select
    c.customer_id,
    c.name,
    upper(c.city) as city,
    coalesce(t.total, 0) as total,
    t.orders,
    rank() over (partition by c.city order by t.total desc) as rank_in_city,
    v.pages
from {{ ref('stg_customers') }} as c
left join {{ ref('customer_totals') }} as t on t.customer_id = c.customer_id
left join visits as v on v.customer_id = c.customer_id
