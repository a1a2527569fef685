{% macro from_cents(column) %}({{ column }} / 100.0){% endmacro %}
