select id as customer_id, lower(email) as email, city
from {{ ref('raw_customers') }}
