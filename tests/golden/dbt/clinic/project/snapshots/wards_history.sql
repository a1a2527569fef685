{% snapshot wards_history %}
{{ config(target_schema='history', unique_key='ward', strategy='check', check_cols=['beds', 'department']) }}
select ward, department, beds from {{ ref('wards') }}
{% endsnapshot %}
