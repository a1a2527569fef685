{% snapshot accounts_history %}
{{ config(target_schema='history', unique_key='id', strategy='check', check_cols=['owner', 'closed_at']) }}
select * from {{ ref('accounts') }}
{% endsnapshot %}
