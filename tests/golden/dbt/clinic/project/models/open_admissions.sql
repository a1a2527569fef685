{{ config(materialized='ephemeral') }}
select *, coalesce(discharged, now()) as until from {{ source('raw', 'admissions') }}
