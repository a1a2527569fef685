select id as account_id, owner, opened_at
from {{ ref('accounts') }}
where closed_at is null
