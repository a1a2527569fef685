/** How to begin with an empty store. */
import { Empty } from "../parts/empty";

export function NothingRecorded() {
  return (
    <Empty title="Nothing is recorded yet">
      <p>
        Send OpenLineage events, DataHub proposals, SQL or documents to this server: <a href="docs">the API</a> has the routes.
      </p>
      <p>
        <code>fll record</code> records files: SQL, dbt projects, pipelines, exports of other stores.
      </p>
      <p>
        <code>fll sample</code> records 90 days of a bank and a hospital, to look around.
      </p>
    </Empty>
  );
}
