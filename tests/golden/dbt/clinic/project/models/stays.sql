select
    a.id as admission_id,
    a.patient,
    w.department,
    extract(epoch from a.until - a.arrived)::numeric / 86400 as days
from {{ ref('open_admissions') }} a
join {{ ref('wards') }} w using (ward)
