select visitor as customer_id, page, seen_at
from {{ source('web', 'visits') }}
where visitor is not null
