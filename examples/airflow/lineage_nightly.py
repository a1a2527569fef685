"""Load, retention, check and export of lineage every night, with Airflow.

The commands are those of a shell. docs/operate/jobs/platform.md describes `lineage.toml` beside this file.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from airflow import DAG
from airflow.operators.bash import BashOperator

CONFIG = Path(__file__).with_name("lineage.toml")
REPORTS = "/var/log/lineage"

with DAG(
    "lineage_nightly",
    schedule="0 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    # The jobs may run side by side, but they share the cores that they are given.
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=5)},
) as dag:
    # Exit code 3: every other line is recorded, so a retry would reject the same lines again.
    load = BashOperator(
        task_id="load",
        bash_command=(
            f"fll spark load 's3a://lake/lineage/{{{{ ds }}}}/*.ndjson.gz' --config {CONFIG}"
            f" --rejects s3a://lake/rejects/{{{{ ds }}}} --summary {REPORTS}/load-{{{{ ds }}}}.json -v"
        ),
        skip_on_exit_code=3,
    )
    retention = BashOperator(
        task_id="retention",
        bash_command=(
            f"fll spark retention --before now-400d --config {CONFIG}"
            f" --summary {REPORTS}/retention-{{{{ ds }}}}.json -v"
        ),
        # Also after a load with rejected lines, which Airflow counts as skipped.
        trigger_rule="none_failed",
    )
    check = BashOperator(
        task_id="check",
        bash_command=f"fll spark check --config {CONFIG} --summary {REPORTS}/check-{{{{ ds }}}}.json -v",
        # Findings stay until somebody repairs them.
        retries=0,
    )
    export = BashOperator(
        task_id="export",
        bash_command=(
            "fll spark export s3a://lake/tables/lineage/{{ ds }} --overwrite"
            " --start {{ ds }} --end {{ macros.ds_add(ds, 1) }}"
            f" --config {CONFIG} --summary {REPORTS}/export-{{{{ ds }}}}.json -v"
        ),
    )

    load >> retention >> [check, export]
