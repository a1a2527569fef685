select patient, days / (days - days) as impossible from {{ ref('stays') }}
