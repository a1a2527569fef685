select city, sum(gross) as total
from {{ ref('orders') }}
group by city
-- not SQL: 
) (
