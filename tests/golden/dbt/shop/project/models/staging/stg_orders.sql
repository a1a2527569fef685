with source as (

    select * from {{ ref('raw_orders') }}

),

renamed as (

    select
        id as order_id,
        customer_id,
        status,
        amount_cents / 100.0 as amount,
        ordered_at
    from source

)

select * from renamed
