select id as customer_id, lower(email) as mail, city
from {{ ref('raw_customers') }}
