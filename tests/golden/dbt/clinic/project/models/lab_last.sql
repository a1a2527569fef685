{{ config(materialized='incremental', unique_key=['admission', 'test']) }}
with ranked as (
    select
        l.*,
        row_number() over (partition by admission, test order by taken_at desc) as position
    from {{ source('raw', 'lab_results') }} l
    {% if is_incremental() %}
    where l.taken_at > (select coalesce(max(t.taken_at), '-infinity') from {{ this }} t)
    {% endif %}
)
select admission, test, value, unit, taken_at,
    case when test = 'crp' and value > 10 then 'high' else 'normal' end as finding
from ranked
where position = 1
