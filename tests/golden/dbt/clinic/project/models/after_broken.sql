select patient from {{ ref('broken') }}
