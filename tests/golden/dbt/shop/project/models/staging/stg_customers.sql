select
    id as customer_id,
    first_name || ' ' || last_name as name,
    city,
    updated_at
from {{ ref('raw_customers') }}
