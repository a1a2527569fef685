select a.account_id, upper(a.owner) as owner, sum(p.amount) as balance
from {{ ref('stg_accounts') }} as a
join {{ ref('stg_payments') }} as p on p.account_id = a.account_id
group by a.account_id, a.owner
