{% snapshot customers_history %}
{{ config(target_schema='history', unique_key='id', strategy='timestamp', updated_at='updated_at') }}
select * from {{ ref('raw_customers') }}
{% endsnapshot %}
