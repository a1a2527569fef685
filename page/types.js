// Write the types of the API's answers, from its OpenAPI document on standard input: `npm run types`.
import { writeFileSync } from "node:fs";
import { json } from "node:stream/consumers";
import openapiTS, { astToString } from "openapi-typescript";

const HEAD = "/** Types of the answers of the REST API: generated from its OpenAPI document by `npm run types`. */\n\n";

const POSTED = new Set(["/v3/questions", "/v3/impact"]);

/** Return the queries of a document, each with its path, its parameters and the schema of its answer in JSON. */
function queriesOf({ paths }) {
  return Object.entries(paths).flatMap(([path, methods]) => {
    // Queries whose parameters do not fit into a URL.
    const operation = POSTED.has(path) ? methods.post : methods.get;
    const answer = operation?.responses[200]?.content?.["application/json"]?.schema;
    return path.startsWith("/v3/") && answer ? [{ path, parameters: operation.parameters, answer }] : [];
  });
}

/** Return a document with two more schemas, the answers and the parameters of all queries by path, and what those refer to. */
function schemasOf({ openapi, info, components }, queries) {
  const byPath = (value) => {
    const properties = Object.fromEntries(queries.map((query) => [query.path, value(query)]));
    return { type: "object", properties, required: Object.keys(properties) };
  };
  const inQuery = ({ parameters = [] }) => parameters.filter((parameter) => parameter.in === "query");
  const schemas = {
    AnswerOf: byPath(({ answer }) => answer),
    ParamsOf: byPath((query) => ({
      type: "object",
      properties: Object.fromEntries(inQuery(query).map(({ name, schema }) => [name, schema])),
    })),
  };
  // A schema refers to others: what is added to the map is visited later.
  const found = new Map(Object.entries(schemas));
  for (const schema of found.values()) {
    for (const [, name] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)) found.set(name, components.schemas[name]);
  }
  return { openapi, info, paths: {}, components: { schemas: Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1))) } };
}

const document = await json(process.stdin);
const options = { defaultNonNullable: false, rootTypes: true, rootTypesNoSchemaPrefix: true, rootTypesKeepCasing: true };
const types = await openapiTS(schemasOf(document, queriesOf(document)), options);
writeFileSync(process.argv[2] ?? "src/api/types.ts", HEAD + astToString(types));
