/** What few visits need, screens and files: a script of its own, loaded when the first of it is needed. */

export { saveGraph } from "../graph/export";
export { HomeNews } from "../home/news";
export { CompareScreen } from "./compare";
export { ImpactScreen } from "./impact";
export { OperationsScreen } from "./operations";
export { ReportScreen } from "./report";
export { RunScreen } from "./run";
export { TagsScreen } from "./tags";
