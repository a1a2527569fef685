select
    id as payment_id,
    account_id,
    case kind when 'out' then -1 else 1 end * {{ from_cents('amount_cents') }} as amount,
    paid_at
from {{ ref('payments') }}
