/** Types of the answers of the REST API: generated from its OpenAPI document by `npm run types`. */

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Activity: {
            events: components["schemas"]["ActivityEvent"][];
            /** @description The documents that the list can contain */
            covers: string;
            /** @description True if `limit` left any out */
            truncated: boolean;
        };
        ActivityEvent: {
            /** @description Milliseconds since 1970 */
            time: number;
            /** @enum {string} */
            outcome: "recorded" | "replaced" | "repeated" | "refused";
            /** @description As in this document; the path itself if no route serves it */
            route: string;
            /** @description The principal, with authentication */
            sender?: string;
            /** @description The User-Agent */
            client?: string;
            namespace?: string;
            /** @description Or the dataset that metadata is about */
            program?: string;
            /** @description The first run of the document */
            run?: string;
            /** @description How many parts were left out or are doubtful */
            warnings?: number;
            /** @description The first warnings, or why the document was refused */
            reasons?: string[];
        };
        Answer: {
            id?: string;
            status: number;
            /** @description Those about the answer: `Link`, `Truncated`, `Window-Start` and the like */
            headers: {
                [key: string]: string;
            };
            /** @description The JSON of the answer, or a problem */
            body: unknown;
        };
        AnswerOf: {
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/lineage": components["schemas"]["Entry"][];
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/lineage": components["schemas"]["FieldLineage"];
            "/v3/namespaces/{namespace}/datasets/{name}/fields/{field}/lineage": components["schemas"]["FieldWays"];
            "/v3/questions": components["schemas"]["Answers"];
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/reach": components["schemas"]["Reach"];
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/history": components["schemas"]["History"];
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/diff": components["schemas"]["Diff"];
            "/v3/namespaces/{namespace}/endpoints/{name}/diff": components["schemas"]["DatasetDiff"];
            "/v3/impact": components["schemas"]["Impact"];
            "/v3/reports/consumption": components["schemas"]["Consumption"];
            "/v3/reports/provenance": components["schemas"]["Provenance"];
            "/v3/namespaces": components["schemas"]["Namespaces"];
            "/v3/namespaces/{namespace}/endpoints": components["schemas"]["EndPoints"];
            "/v3/namespaces/{namespace}/endpoints/{name}": components["schemas"]["EndPointDetails"];
            "/v3/namespaces/{namespace}/endpoints/{name}/fields": components["schemas"]["Fields"];
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}": components["schemas"]["FieldDetails"];
            "/v3/search": components["schemas"]["Results"];
            "/v3/namespaces/{namespace}/endpoints/{name}/runs": components["schemas"]["Runs"];
            "/v3/namespaces/{namespace}/endpoints/{name}/runs/counts": components["schemas"]["RunCounts"];
            "/v3/namespaces/{namespace}/endpoints/{name}/programs": components["schemas"]["Programs"];
            "/v3/namespaces/{namespace}/endpoints/{name}/openlineage": components["schemas"]["OpenLineageEvent"][];
            "/v3/runs/{run}": components["schemas"]["RunTold"];
            "/v3/namespaces/{namespace}/runs/{run}": components["schemas"]["RunTold"];
            "/v3/contents/{checksum}": components["schemas"]["Content"];
            "/v3/runs": components["schemas"]["NamespaceRuns"];
            "/v3/namespaces/{namespace}/runs": components["schemas"]["NamespaceRuns"];
            "/v3/openlineage": components["schemas"]["OpenLineageEvent"][];
            "/v3/namespaces/{namespace}/openlineage": components["schemas"]["OpenLineageEvent"][];
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/tags/{tag}": components["schemas"]["Tag"];
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/tags": components["schemas"]["FieldTagList"];
            "/v3/namespaces/{namespace}/endpoints/{name}/tags": components["schemas"]["TagList"];
            "/v3/tags": components["schemas"]["TagNames"];
            "/v3/tags/{tag}": components["schemas"]["TaggedFields"];
            "/v3/policies/{policy}": components["schemas"]["Policy"];
            "/v3/policies": components["schemas"]["Policies"];
            "/v3/reports/retention": components["schemas"]["RetentionReport"];
            "/v3/reports/flows": components["schemas"]["Flows"];
            "/v3/events": components["schemas"]["Activity"];
            "/v3/namespaces/{namespace}/datasets/{name}/lineage/fields": string[] | components["schemas"]["CdapField"][];
            "/v3/namespaces/{namespace}/datasets/{name}/lineage/fields/{field}": components["schemas"]["CdapSummary"];
            "/v3/namespaces/{namespace}/datasets/{name}/lineage/fields/{field}/operations": components["schemas"]["CdapOperations"];
            "/v3/namespaces/{namespace}/datasets/{name}/lineage/allfieldlineage": components["schemas"]["CdapDatasetSummary"];
        };
        Answers: {
            answers: components["schemas"]["Answer"][];
            /** @description True if a bound of the batch left a question without an answer */
            truncated: boolean;
            truncatedBy?: string[];
        };
        CdapDataset: {
            namespace: string;
            dataset: string;
            /** @enum {string} */
            entity: "DATASET";
        };
        CdapDatasetFields: {
            dataset: components["schemas"]["CdapDataset"];
            fields: string[];
        };
        CdapDatasetSummary: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            /** @enum {string} */
            direction: "INCOMING" | "OUTGOING" | "BOTH";
            "start-ts": number;
            "end-ts": number;
            entityId: components["schemas"]["CdapDataset"];
            fields: string[];
            incoming: components["schemas"]["CdapRelations"][];
            outgoing: components["schemas"]["CdapRelations"][];
            truncated: boolean;
            truncatedBy?: string[];
        };
        CdapField: {
            name: string;
            lineage: boolean;
        };
        CdapInputField: {
            origin: string;
            name: string;
        };
        CdapInputs: {
            endPoint?: components["schemas"]["EndPoint"];
            fields?: components["schemas"]["CdapInputField"][];
        };
        CdapLastRun: {
            program: components["schemas"]["CdapProgram"];
            lastExecutedTimeInSeconds: number;
        };
        CdapOperation: {
            name: string;
            description: string;
            inputs: components["schemas"]["CdapInputs"];
            outputs: components["schemas"]["CdapOutputs"];
        };
        CdapOperations: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            incoming?: components["schemas"]["CdapPerformed"][];
            outgoing?: components["schemas"]["CdapPerformed"][];
            truncated: boolean;
            truncatedBy?: string[];
        };
        CdapOutputs: {
            endPoint?: components["schemas"]["EndPoint"];
            fields?: string[];
        };
        CdapPerformed: {
            programs: components["schemas"]["CdapLastRun"][];
            operations: components["schemas"]["CdapOperation"][];
        };
        CdapProgram: {
            namespace: string;
            application: string;
            version: string;
            type: string;
            program: string;
            /** @enum {string} */
            entity: "PROGRAM";
        };
        CdapRelation: {
            source: string;
            destination: string;
        };
        CdapRelations: {
            entityId: components["schemas"]["CdapDataset"];
            fieldCount: number;
            relations: components["schemas"]["CdapRelation"][];
        };
        CdapSummary: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            incoming?: components["schemas"]["CdapDatasetFields"][];
            outgoing?: components["schemas"]["CdapDatasetFields"][];
            truncated: boolean;
            truncatedBy?: string[];
        };
        ChangedField: {
            field: string;
            gained: components["schemas"]["DerivationParts"];
            lost: components["schemas"]["DerivationParts"];
            /** @description Operations and edges in both windows */
            kept: number;
            /** @description Members whose parts are left out because a limit cut the window they depend on */
            omitted?: ("gained" | "lost")[];
        };
        ComparedProgram: {
            namespace: string;
            application: string;
            program: string;
            type: string;
            /** @enum {string} */
            status: "compared" | "unknown" | "unrecorded" | "removed" | "not_compiled";
            changes: number;
            lastRun?: string;
            lastStart?: number;
            /** @description Constants in the SQL were not compared: the SQL of the last run is not known */
            withoutLiterals?: boolean;
        };
        Connection: {
            from: string;
            to: string;
            operation: string;
            operations?: string[];
            /** @description With `failed=true`: true if only failed and aborted runs have it */
            failed?: boolean;
            /** @enum {string} */
            influence?: "direct" | "indirect";
        };
        Consumption: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            /** @enum {string} */
            report: "consumption";
            field: components["schemas"]["SubjectField"];
            runs: components["schemas"]["ListedRun"][];
            programs?: components["schemas"]["Program"][];
            /** @description Programs of runs that read or wrote the dataset without reporting whether they used the `field`, also programs all of whose runs failed. A program may be in `programs`, too, for other runs. Left out if there are none */
            programsWithUnknownColumns?: components["schemas"]["Program"][];
            failedOnly?: number;
            verdict?: string;
            derived?: components["schemas"]["ReachedField"][];
            dropped?: boolean;
            unknown?: components["schemas"]["UnknownRelation"][];
            truncated: boolean;
            truncatedBy?: string[];
            moreRuns: boolean;
        };
        Content: {
            checksum: string;
            endpoints: components["schemas"]["EndPointOfContent"][];
            operations: components["schemas"]["RecordedOperation"][];
        };
        DatasetDiff: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            fields: components["schemas"]["ChangedField"][];
            truncated: boolean;
            truncatedBy?: string[];
        };
        DerivationParts: {
            operations: components["schemas"]["Operation"][];
            edges: components["schemas"]["Edge"][];
            sources: components["schemas"]["Source"][];
            derivations: components["schemas"]["DistinctDerivation"][];
        };
        Diff: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            gained: components["schemas"]["DerivationParts"];
            lost: components["schemas"]["DerivationParts"];
            /** @description Operations and edges in both windows */
            kept: number;
            /** @description Members whose parts are left out because a limit cut the window they depend on */
            omitted?: ("gained" | "lost")[];
            truncated: boolean;
            truncatedBy?: string[];
        };
        DistinctDerivation: {
            /** @description Digest of the operations that lead into the field */
            digest: string;
            /** @description Checksum of the newest run's content */
            checksum: string;
            /** @description Runs of this window; 0 if a limit left all of them out */
            runs: number;
            firstStart?: number;
            lastStart?: number;
        };
        Downstream: {
            fields: components["schemas"]["ImpactedField"][];
            fieldCount: number;
            datasets: components["schemas"]["EndPoint"][];
            programs: components["schemas"]["ImpactedProgram"][];
            /** @description Datasets beyond which it is not known which fields are affected */
            unknown?: components["schemas"]["UnknownRelation"][];
        };
        Edge: {
            from: string;
            to: string;
            operation: string;
            /** @enum {string} */
            influence?: "indirect";
        };
        EndPoint: {
            namespace: string;
            name: string;
        };
        EndPointDetails: {
            namespace: string;
            name: string;
            description: string;
            fields: number;
            firstStart: number | null;
            lastStart: number | null;
            truncated: boolean;
            truncatedBy?: string[];
        };
        EndPointOfContent: {
            namespace: string;
            name: string;
            /** @enum {string} */
            direction: "backward" | "forward" | "both";
        };
        EndPoints: {
            endpoints: components["schemas"]["ListedEndPoint"][];
        };
        Entry: {
            source: components["schemas"]["EndPoint"] | null;
            destination: components["schemas"]["EndPoint"] | null;
            fieldmap: components["schemas"]["Pair"][];
            level: number;
            /** @enum {string} */
            direction: "backward" | "forward";
            unknown?: boolean;
        };
        EventOfRun: {
            eventTime: number;
            eventType: string;
        };
        ExpiredField: {
            namespace: string;
            name: string;
            field: string;
            /** @description The names of its own tags when the report was made; left out without any */
            tags?: string[];
            path: components["schemas"]["TaggedField"][];
            runs: number;
            oldestRun: string;
            oldestStart: number;
            newestRun: string;
            newestStart: number;
            programs: components["schemas"]["ExpiredProgram"][];
        };
        ExpiredProgram: {
            namespace: string;
            application: string;
            program: string;
            type: string;
            runs: number;
            oldestRun: string;
            oldestStart: number;
            newestRun: string;
            newestStart: number;
        };
        Fault: {
            /** @description A path such as `operations.2.inputs.0` */
            at: string;
            detail: string;
        };
        FieldDetails: {
            name: string;
            type?: string;
            read: boolean;
            written: boolean;
            lastWritten?: number;
            dropped?: boolean;
            tags: string[];
        };
        FieldLineage: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            nodes: components["schemas"]["Node"][];
            operations: components["schemas"]["Operation"][];
            connections: components["schemas"]["Connection"][];
            checksums: string[];
            truncated: boolean;
            truncatedBy?: string[];
        };
        FieldTag: {
            namespace: string;
            name: string;
            field: string;
            tag: string;
            /** @description When it was set, in milliseconds since 1970 */
            at: number;
            /** @description The person or program that sets it */
            by?: string;
            description?: string;
            warnings?: components["schemas"]["Fault"][];
            /** @description With `inherited=true`: from the field with the tag to the one in the URL */
            path?: components["schemas"]["TaggedField"][];
        };
        FieldTagList: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            tags: components["schemas"]["FieldTag"][];
            /** @description False if the principal may not set and remove tags, absent otherwise */
            changeable?: boolean;
            truncated?: boolean;
            truncatedBy?: string[];
        };
        FieldWays: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            fieldName: string;
            startTimeInSeconds: number;
            endTimeInSeconds: number;
            paths: components["schemas"]["Path"][];
            truncated: boolean;
            truncatedBy?: string[];
        };
        FieldWithTags: {
            namespace: string;
            name: string;
            field: string;
            /** @description The names of its own tags when the report was made; left out without any */
            tags?: string[];
        };
        Fields: {
            fields: components["schemas"]["ListedField"][];
        };
        FlowProgram: {
            namespace: string;
            application: string;
            program: string;
            type: string;
            runs: number;
            firstRun: string;
            firstStart: number;
            lastRun: string;
            lastStart: number;
            /** @description Whether the program's last run of the window wrote it in this way */
            current: boolean;
        };
        FlowStep: {
            namespace: string;
            name: string;
            field: string;
            /**
             * @description `copied` if any way copies the value, `masked` if every way masks it, `computed` otherwise, `influence` if it decides rows or groups alone. Left out for the first field, and if it is not known
             * @enum {string}
             */
            kind?: "" | "copied" | "computed" | "masked" | "influence";
            /** @description The operations in their own words; distinct ways are joined by ` | ` */
            operation?: string;
        };
        Flows: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            policy: components["schemas"]["Policy"];
            verdict: string;
            tagged: number;
            violations: components["schemas"]["Violation"][];
            unknown: components["schemas"]["UnknownRelation"][];
            truncated: boolean;
            truncatedBy?: string[];
            /** @description True if no recorded dataset matches the patterns of a kept policy */
            forbidsNone?: boolean;
        };
        Graph: {
            nodes: components["schemas"]["Node"][];
            operations: components["schemas"]["Operation"][];
            connections: components["schemas"]["Connection"][];
            checksums: string[];
        };
        History: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            stretches: components["schemas"]["Stretch"][];
            /** @description Runs before the first stretch that wrote the dataset without the field */
            missingBefore: number;
            truncated: boolean;
            truncatedBy?: string[];
        };
        Impact: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            changes: components["schemas"]["ImpactChange"][];
            programs: components["schemas"]["ComparedProgram"][];
            /** @description Number of changes by kind */
            counts: {
                [key: string]: number;
            };
            warnings?: components["schemas"]["Fault"][];
            truncated: boolean;
            truncatedBy?: string[];
        };
        ImpactChange: {
            /** @enum {string} */
            kind: "removed" | "renamed" | "retyped" | "rows" | "derived" | "literals" | "unknown" | "added";
            field: components["schemas"]["ReachField"];
            to?: string;
            program?: components["schemas"]["ProgramName"];
            old?: components["schemas"]["ImpactDerivation"];
            new?: components["schemas"]["ImpactDerivation"];
            downstream?: components["schemas"]["Downstream"];
        };
        ImpactDerivation: {
            text?: string;
            inputs?: components["schemas"]["ReachField"][];
            type?: string;
        };
        ImpactedField: {
            namespace: string;
            name: string;
            field: string;
            hops: number;
            /** @enum {string} */
            influence: "direct" | "indirect";
        };
        ImpactedProgram: {
            namespace: string;
            application: string;
            program: string;
            type: string;
            lastRun: string;
            /** @description Milliseconds since 1970 */
            lastStart: number;
            /** @description It read the dataset without reporting which fields it used */
            unknown?: boolean;
            /** @description The change contains this program, too */
            inChange?: boolean;
        };
        JobReference: {
            namespace: string;
            name: string;
            run: string;
        };
        ListedEndPoint: {
            namespace: string;
            name: string;
            description?: string;
        };
        ListedField: {
            name: string;
            type?: string;
            read: boolean;
            written: boolean;
            lastWritten?: number;
            dropped?: boolean;
        };
        ListedRun: {
            run: string;
            namespace: string;
            application: string;
            version: string;
            type: string;
            program: string;
            startTime: number;
            /**
             * @description Left out where no end was recorded and the last event is a day old
             * @enum {string}
             */
            state?: "RUNNING" | "COMPLETE" | "FAIL" | "ABORT";
            /** @description The run that started this one */
            parent?: string;
            /** @description Time of the last event, for a run without a recorded end */
            lastEventTime?: number;
            checksum: string;
            /** @enum {string} */
            direction: "both" | "backward" | "forward";
        };
        NamespaceRuns: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            runs: components["schemas"]["RunOfProgram"][];
            truncated?: boolean;
            truncatedBy?: string[];
        };
        Namespaces: {
            namespaces: string[];
        };
        Node: {
            id: string;
            label: string;
            /** @description Name of the operation */
            origin: string;
            /** @description With `failed=true`: true if only failed and aborted runs have it */
            failed?: boolean;
            type?: string;
            sourceEndPoint?: components["schemas"]["EndPoint"];
            destinationEndPoint?: components["schemas"]["EndPoint"];
            destinationEndPoints?: components["schemas"]["EndPoint"][];
        };
        OpenLineageDataset: {
            namespace: string;
            name: string;
            facets: {
                [key: string]: {
                    [key: string]: unknown;
                };
            };
        };
        OpenLineageEvent: {
            /** @enum {string} */
            eventType: "RUNNING" | "COMPLETE" | "FAIL" | "ABORT";
            eventTime: string;
            producer: string;
            schemaURL: string;
            run: components["schemas"]["OpenLineageRun"];
            job: components["schemas"]["OpenLineageJob"];
            inputs: components["schemas"]["OpenLineageDataset"][];
            outputs: components["schemas"]["OpenLineageDataset"][];
        };
        OpenLineageJob: {
            namespace: string;
            name: string;
            facets: {
                [key: string]: {
                    [key: string]: unknown;
                };
            };
        };
        OpenLineageRun: {
            runId: string;
            facets: {
                [key: string]: {
                    [key: string]: unknown;
                };
            };
        };
        Operation: {
            name: string;
            description: string;
            /** @enum {string} */
            type: "READ" | "TRANSFORM" | "WRITE";
            /** @description With `failed=true`: true if only failed and aborted runs have it */
            failed?: boolean;
            endPoint?: components["schemas"]["EndPoint"];
        };
        Pair: {
            from: string | null;
            to: string | null;
            /** @enum {string} */
            influence?: "direct" | "indirect";
            /** @enum {string} */
            scope?: "dataset";
            /** @description With `failed=true`: true if only failed and aborted runs have it */
            failed?: boolean;
        };
        ParamsOf: {
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/lineage": {
                start?: string;
                end?: string;
                /** @default false */
                failed?: boolean;
                /** @default 1 */
                level?: number;
                /**
                 * @default both
                 * @enum {string}
                 */
                direction?: "both" | "backward" | "forward";
                /** @default true */
                indirect?: boolean;
            };
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/lineage": {
                start?: string;
                end?: string;
                /** @default false */
                failed?: boolean;
                /**
                 * @default backward
                 * @enum {string}
                 */
                direction?: "backward" | "forward";
                /**
                 * @default detailed
                 * @enum {string}
                 */
                view?: "detailed" | "simple";
                /** @default true */
                indirect?: boolean;
            };
            "/v3/namespaces/{namespace}/datasets/{name}/fields/{field}/lineage": {
                limit?: number;
                cursor?: string;
                start?: string;
                end?: string;
                /** @default false */
                failed?: boolean;
            };
            "/v3/questions": Record<string, never>;
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/reach": {
                start?: string;
                end?: string;
                /** @default false */
                failed?: boolean;
                level?: number;
                /**
                 * @default backward
                 * @enum {string}
                 */
                direction?: "backward" | "forward" | "both";
                /** @default true */
                indirect?: boolean;
                /** @default false */
                causal?: boolean;
                /** @default true */
                counts?: boolean;
            };
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/history": {
                start?: string;
                end?: string;
                /** @default false */
                failed?: boolean;
                /** @default true */
                indirect?: boolean;
            };
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/diff": {
                /** @default UTC */
                timezone?: string;
                start?: string;
                end?: string;
                /** @default false */
                failed?: boolean;
                /** @default true */
                indirect?: boolean;
                baseStart?: string;
                baseEnd?: string;
            };
            "/v3/namespaces/{namespace}/endpoints/{name}/diff": {
                /** @default UTC */
                timezone?: string;
                start?: string;
                end?: string;
                /** @default false */
                failed?: boolean;
                /** @default true */
                indirect?: boolean;
                baseStart?: string;
                baseEnd?: string;
            };
            "/v3/impact": {
                start?: string;
                end?: string;
                level?: number;
            };
            "/v3/reports/consumption": {
                limit?: number;
                cursor?: string;
                /** @default UTC */
                timezone?: string;
                start?: string;
                end?: string;
                /** @default false */
                failed?: boolean;
                namespace?: string;
                endpoint?: string;
                field?: string;
                /** @default true */
                causal?: boolean;
                /**
                 * @default derived
                 * @enum {string}
                 */
                part?: "derived" | "programs" | "days" | "runs";
            };
            "/v3/reports/provenance": {
                /** @default UTC */
                timezone?: string;
                start?: string;
                end?: string;
                /** @default false */
                failed?: boolean;
                namespace?: string;
                endpoint?: string;
                field?: string;
                /** @default true */
                causal?: boolean;
                /**
                 * @default sources
                 * @enum {string}
                 */
                part?: "sources" | "upstream" | "programs" | "stretches";
            };
            "/v3/namespaces": {
                limit?: number;
                cursor?: string;
            };
            "/v3/namespaces/{namespace}/endpoints": {
                limit?: number;
                cursor?: string;
                prefix?: string;
            };
            "/v3/namespaces/{namespace}/endpoints/{name}": Record<string, never>;
            "/v3/namespaces/{namespace}/endpoints/{name}/fields": {
                limit?: number;
                cursor?: string;
                prefix?: string;
                q?: string;
            };
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}": Record<string, never>;
            "/v3/search": {
                limit?: number;
                cursor?: string;
                q?: string;
                /** @enum {string} */
                kind?: "endpoint" | "field";
            };
            "/v3/namespaces/{namespace}/endpoints/{name}/runs": {
                limit?: number;
                cursor?: string;
                start?: string;
                end?: string;
                field?: string;
                program?: string;
                /** @enum {string} */
                state?: "RUNNING" | "COMPLETE" | "FAIL" | "ABORT";
            };
            "/v3/namespaces/{namespace}/endpoints/{name}/runs/counts": {
                start?: string;
                end?: string;
                /** @default 30 */
                buckets?: number;
                field?: string;
            };
            "/v3/namespaces/{namespace}/endpoints/{name}/programs": {
                start?: string;
                end?: string;
                /** @default false */
                failed?: boolean;
                field?: string;
                /**
                 * @default both
                 * @enum {string}
                 */
                direction?: "both" | "backward" | "forward";
            };
            "/v3/namespaces/{namespace}/endpoints/{name}/openlineage": {
                limit?: number;
                cursor?: string;
                start?: string;
                end?: string;
                field?: string;
                program?: string;
                /** @enum {string} */
                state?: "RUNNING" | "COMPLETE" | "FAIL" | "ABORT";
            };
            "/v3/runs/{run}": Record<string, never>;
            "/v3/namespaces/{namespace}/runs/{run}": Record<string, never>;
            "/v3/contents/{checksum}": Record<string, never>;
            "/v3/runs": {
                limit?: number;
                cursor?: string;
                start?: string;
                end?: string;
                program?: string;
                /** @enum {string} */
                state?: "RUNNING" | "COMPLETE" | "FAIL" | "ABORT";
            };
            "/v3/namespaces/{namespace}/runs": {
                limit?: number;
                cursor?: string;
                start?: string;
                end?: string;
                program?: string;
                /** @enum {string} */
                state?: "RUNNING" | "COMPLETE" | "FAIL" | "ABORT";
            };
            "/v3/openlineage": {
                limit?: number;
                cursor?: string;
                start?: string;
                end?: string;
                program?: string;
                /** @enum {string} */
                state?: "RUNNING" | "COMPLETE" | "FAIL" | "ABORT";
            };
            "/v3/namespaces/{namespace}/openlineage": {
                limit?: number;
                cursor?: string;
                start?: string;
                end?: string;
                program?: string;
                /** @enum {string} */
                state?: "RUNNING" | "COMPLETE" | "FAIL" | "ABORT";
            };
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/tags/{tag}": Record<string, never>;
            "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/tags": {
                limit?: number;
                cursor?: string;
                start?: string;
                end?: string;
                /** @default false */
                inherited?: boolean;
                level?: number;
            };
            "/v3/namespaces/{namespace}/endpoints/{name}/tags": {
                limit?: number;
                cursor?: string;
            };
            "/v3/tags": {
                limit?: number;
                cursor?: string;
            };
            "/v3/tags/{tag}": {
                limit?: number;
                cursor?: string;
            };
            "/v3/policies/{policy}": {
                namespace?: string;
            };
            "/v3/policies": {
                limit?: number;
                cursor?: string;
            };
            "/v3/reports/retention": {
                /** @default UTC */
                timezone?: string;
                /** @default 0 */
                start?: string;
                end?: string;
                /** @default false */
                failed?: boolean;
                policy?: string;
                namespace?: string;
                /** @default false */
                indirect?: boolean;
            };
            "/v3/reports/flows": {
                /** @default UTC */
                timezone?: string;
                start?: string;
                end?: string;
                /** @default false */
                failed?: boolean;
                policy?: string;
                /** @default true */
                causal?: boolean;
            };
            "/v3/events": {
                /** @default now-1h */
                since?: string;
                /** @enum {string} */
                outcome?: "accepted" | "warned" | "refused";
                /** @default 100 */
                limit?: number;
            };
            "/v3/namespaces/{namespace}/datasets/{name}/lineage/fields": {
                start?: string;
                end?: string;
                prefix?: string;
                /** @default false */
                includeCurrent?: boolean;
            };
            "/v3/namespaces/{namespace}/datasets/{name}/lineage/fields/{field}": {
                start?: string;
                end?: string;
                /**
                 * @default both
                 * @enum {string}
                 */
                direction?: "incoming" | "outgoing" | "both";
            };
            "/v3/namespaces/{namespace}/datasets/{name}/lineage/fields/{field}/operations": {
                start?: string;
                end?: string;
                /**
                 * @default both
                 * @enum {string}
                 */
                direction?: "incoming" | "outgoing" | "both";
            };
            "/v3/namespaces/{namespace}/datasets/{name}/lineage/allfieldlineage": {
                start?: string;
                end?: string;
                /**
                 * @default both
                 * @enum {string}
                 */
                direction?: "incoming" | "outgoing" | "both";
            };
        };
        Path: {
            operations: components["schemas"]["Step"][];
            runs: string[];
            runCount: number;
            firstStart: number;
            lastStart: number;
        };
        PhysicalName: {
            namespace: string;
            name: string;
            physicalName: string;
        };
        Policies: {
            policies: components["schemas"]["Policy"][];
        };
        Policy: {
            name: string;
            /** @description A whole number and a unit: s, m, h, d, w, mo (months of the calendar) or y */
            maxAge?: string;
            /** @description When it was set, in milliseconds since 1970 */
            at: number;
            tag?: string;
            field?: components["schemas"]["PolicyField"];
            description?: string;
            /** @description `NAMESPACE/DATASET`, where `*` is any text */
            into?: string;
            /** @description `NAMESPACE/DATASET`, where `*` is any text */
            onlyInto?: string;
            /**
             * @description Of a flow policy: whether values alone count, or filters and joins, too
             * @enum {string}
             */
            influence?: "" | "value" | "any";
            /** @description Of a flow policy: ways through a masking operation do not count */
            unlessMasked?: boolean;
            warnings?: components["schemas"]["Fault"][];
        };
        PolicyField: {
            namespace: string;
            name: string;
            field: string;
        };
        Program: {
            namespace: string;
            application: string;
            program: string;
            type: string;
            /** @enum {string} */
            direction: "both" | "backward" | "forward";
            runs: number;
            failed: number;
            /** @description All of its runs in the window failed */
            failedOnly?: boolean;
            firstStart: number;
            lastStart: number;
            lastRun: string;
            /** @description In the consumption report, newest first */
            days?: components["schemas"]["ProgramDay"][];
        };
        ProgramDay: {
            /** @description As `2026-11-01` */
            day: string;
            runs: number;
            failed: number;
            firstStart: number;
            lastStart: number;
            failedRuns: string[];
        };
        ProgramName: {
            namespace: string;
            application: string;
            program: string;
            type: string;
        };
        Programs: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            programs: components["schemas"]["Program"][];
            /** @description Programs of runs that read or wrote the dataset without reporting whether they used the `field`, also programs all of whose runs failed. A program may be in `programs`, too, for other runs. Left out if there are none */
            programsWithUnknownColumns?: components["schemas"]["Program"][];
            failedOnly: number;
            truncated: boolean;
            truncatedBy?: string[];
        };
        Provenance: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            /** @enum {string} */
            report: "provenance";
            field: components["schemas"]["SubjectField"];
            verdict: string;
            programs: components["schemas"]["Program"][];
            /** @description Programs of runs that read or wrote the dataset without reporting whether they used the `field`, also programs all of whose runs failed. A program may be in `programs`, too, for other runs. Left out if there are none */
            programsWithUnknownColumns?: components["schemas"]["Program"][];
            failedOnly: number;
            sources: components["schemas"]["ReachedField"][];
            upstream: components["schemas"]["ReachedField"][];
            unknown: components["schemas"]["UnknownRelation"][];
            derivations: components["schemas"]["Path"][];
            detailed: components["schemas"]["Graph"];
            simple: components["schemas"]["Graph"];
            stretches: components["schemas"]["Stretch"][];
            truncated: boolean;
            truncatedBy?: string[];
        };
        Reach: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            nodes: components["schemas"]["ReachNode"][];
            edges: components["schemas"]["ReachEdge"][];
            truncated: boolean;
            unknown?: components["schemas"]["UnknownRelation"][];
            truncatedBy?: string[];
        };
        ReachEdge: {
            from: components["schemas"]["ReachField"];
            to: components["schemas"]["ReachField"];
            /** @enum {string} */
            influence: "direct" | "indirect";
            /** @description True if the order of the runs in the window allows a value to pass this edge; absent if the request ran out of time before this was computed */
            inOrder?: boolean;
            runs?: number;
            firstStart?: number;
            lastStart?: number;
            lastRun?: string;
            /** @description Where the id of the run is unique; left out for UUIDs */
            lastRunNamespace?: string;
            failed?: boolean;
            /** @enum {string} */
            direction?: "backward" | "forward";
        };
        ReachField: {
            namespace: string;
            name: string;
            field: string;
        };
        ReachNode: {
            namespace: string;
            name: string;
            field: string;
            hops: number;
            type?: string;
            dropped?: boolean;
            /** @description True if the order of the runs in the window allows a value to pass this edge; absent if the request ran out of time before this was computed */
            inOrder?: boolean;
            /** @enum {string} */
            direction?: "both" | "backward" | "forward";
        };
        ReachedField: {
            namespace: string;
            name: string;
            field: string;
            /** @description The names of its own tags when the report was made; left out without any */
            tags?: string[];
            hops: number;
            /** @enum {string} */
            influence: "direct" | "indirect";
            /** @description The operations of the last hop of `path` in their own words, `copied` without any; distinct ways are joined by ` | `, the newest first. Left out if it is not known */
            operation?: string;
            /**
             * @description How the value comes here, over all paths: `copied` if each hop of every path copies it, `mixed` if those of at least one do and others do not or are not known, `operations` if every path has operations. Left out for an indirect field, or if it is not known
             * @enum {string}
             */
            value?: "copied" | "mixed" | "operations";
            /** @description With `causal=false` alone: false if the order of the runs in the window does not allow the field */
            inOrder?: boolean;
            runs?: number;
            firstStart?: number;
            lastStart?: number;
            lastRun?: string;
            /** @description Where the id of the run is unique; left out for UUIDs */
            lastRunNamespace?: string;
            failed?: boolean;
            /** @description In some run, a transform without outputs takes it */
            dropped?: boolean;
            path: components["schemas"]["ReachField"][];
        };
        RecordedDataset: {
            namespace: string;
            name: string;
            description: string;
        };
        RecordedInput: {
            origin: string;
            name: string;
            /** @enum {string} */
            influence: "direct" | "indirect";
            /**
             * @description Of an indirect influence
             * @enum {string}
             */
            kind?: "conditional" | "filter" | "group_by" | "join" | "sort" | "window";
        };
        RecordedOperation: {
            /** @enum {string} */
            type: "READ" | "TRANSFORM" | "WRITE";
            name: string;
            description: string;
            source?: components["schemas"]["RecordedDataset"];
            destination?: components["schemas"]["RecordedDataset"];
            inputs?: components["schemas"]["RecordedInput"][];
            outputs?: components["schemas"]["RecordedOutput"][];
            /** @description For a WRITE: READs whose relation to it is unknown */
            unknownOrigins?: string[];
        };
        RecordedOutput: {
            name: string;
            type?: string;
        };
        ReportWindow: {
            start: number;
            end: number;
        };
        Result: {
            namespace: string;
            name: string;
            field?: string;
        };
        Results: {
            results: components["schemas"]["Result"][];
        };
        RetentionReport: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            policy: components["schemas"]["Policy"];
            /** @description The field of the policy; left out for one on a tag */
            field?: components["schemas"]["SubjectField"];
            window: components["schemas"]["ReportWindow"];
            /** @description Without older data: a time in milliseconds since 1970 from which on each dataset of `complying` has recorded runs. Left out if one has none, or for more than 50 datasets */
            recordedFrom?: number;
            verdict: string;
            fields: components["schemas"]["ExpiredField"][];
            /** @description Fields of the policy, or made of them, without a known older run */
            complying: components["schemas"]["FieldWithTags"][];
            unknown: components["schemas"]["UnknownRelation"][];
            truncated: boolean;
            truncatedBy?: string[];
        };
        RunBucket: {
            start: number;
            /** @description Runs that neither failed nor were aborted */
            complete: number;
            failed: number;
        };
        RunCounts: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            buckets: components["schemas"]["RunBucket"][];
            truncated: boolean;
            truncatedBy?: string[];
        };
        RunOfProgram: {
            run: string;
            namespace: string;
            application: string;
            version: string;
            type: string;
            program: string;
            startTime: number;
            /**
             * @description Left out where no end was recorded and the last event is a day old
             * @enum {string}
             */
            state?: "RUNNING" | "COMPLETE" | "FAIL" | "ABORT";
            /** @description The run that started this one */
            parent?: string;
            /** @description Time of the last event, for a run without a recorded end */
            lastEventTime?: number;
            checksum: string;
        };
        RunTold: {
            run: string;
            namespace: string;
            application: string;
            version: string;
            type: string;
            program: string;
            startTime: number;
            /**
             * @description Left out where no end was recorded and the last event is a day old
             * @enum {string}
             */
            state?: "RUNNING" | "COMPLETE" | "FAIL" | "ABORT";
            /** @description The run that started this one */
            parent?: string;
            /** @description Time of the last event, for a run without a recorded end */
            lastEventTime?: number;
            aspect?: string;
            command?: string;
            confidence?: {
                [key: string]: number;
            };
            dbtVersion?: string;
            error?: string;
            materialization?: string;
            queries?: string[];
            checksum: string;
            sql?: string;
            parentJob?: components["schemas"]["JobReference"];
            root?: components["schemas"]["JobReference"];
            nominalStartTime?: string;
            nominalEndTime?: string;
            errorMessage?: string;
            physicalNames?: components["schemas"]["PhysicalName"][];
            /** @description In order of time */
            events?: components["schemas"]["EventOfRun"][];
            endpoints: components["schemas"]["EndPointOfContent"][];
            /** @description As the content of its checksum has them */
            operations: components["schemas"]["RecordedOperation"][];
        };
        Runs: {
            /** @description Runs that started before it, in milliseconds since 1970, may have been deleted; left out if the window begins later */
            retainedFrom?: number;
            runs: components["schemas"]["ListedRun"][];
            /** @description Runs between those of this page that used the dataset without reporting whether they used the `field`; left out if there are none */
            runsWithUnknownColumns?: number;
        };
        Source: {
            namespace: string;
            name: string;
            field: string;
        };
        Step: {
            inputs: string[];
            outputs: string[];
            name: string;
            description: string;
        };
        Stretch: {
            /** @description Checksum of the newest run's content */
            checksum: string;
            firstRun: string;
            lastRun: string;
            /** @description Where the id of the run is unique; left out for UUIDs */
            firstRunNamespace?: string;
            /** @description Where the id of the run is unique; left out for UUIDs */
            lastRunNamespace?: string;
            firstStart: number;
            lastStart: number;
            /** @description Runs that wrote the field */
            runs: number;
            /** @description Runs between these that wrote the dataset without the field */
            missing: number;
            /** @description Such runs after the newest run, up to the next stretch or the end of the window */
            missingAfter: number;
        };
        SubjectField: {
            namespace: string;
            name: string;
            field: string;
            /** @description The names of its own tags when the report was made; left out without any */
            tags?: string[];
            /** @description The latest description of its dataset; left out without one */
            datasetDescription?: string;
        };
        Tag: {
            namespace: string;
            name: string;
            field: string;
            tag: string;
            /** @description When it was set, in milliseconds since 1970 */
            at: number;
            /** @description The person or program that sets it */
            by?: string;
            description?: string;
            warnings?: components["schemas"]["Fault"][];
        };
        TagList: {
            tags: components["schemas"]["Tag"][];
        };
        TagNames: {
            tags: string[];
        };
        TaggedField: {
            namespace: string;
            name: string;
            field: string;
        };
        TaggedFields: {
            tag: string;
            fields: components["schemas"]["Tag"][];
        };
        UnknownRelation: {
            source: components["schemas"]["EndPoint"];
            destination: components["schemas"]["EndPoint"];
            /** @enum {string} */
            direction?: "backward" | "forward";
        };
        Violation: {
            namespace: string;
            name: string;
            field: string;
            source: components["schemas"]["ReachField"];
            hops: number;
            path: components["schemas"]["FlowStep"][];
            programs: components["schemas"]["FlowProgram"][];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Activity = components['schemas']['Activity'];
export type ActivityEvent = components['schemas']['ActivityEvent'];
export type Answer = components['schemas']['Answer'];
export type AnswerOf = components['schemas']['AnswerOf'];
export type Answers = components['schemas']['Answers'];
export type CdapDataset = components['schemas']['CdapDataset'];
export type CdapDatasetFields = components['schemas']['CdapDatasetFields'];
export type CdapDatasetSummary = components['schemas']['CdapDatasetSummary'];
export type CdapField = components['schemas']['CdapField'];
export type CdapInputField = components['schemas']['CdapInputField'];
export type CdapInputs = components['schemas']['CdapInputs'];
export type CdapLastRun = components['schemas']['CdapLastRun'];
export type CdapOperation = components['schemas']['CdapOperation'];
export type CdapOperations = components['schemas']['CdapOperations'];
export type CdapOutputs = components['schemas']['CdapOutputs'];
export type CdapPerformed = components['schemas']['CdapPerformed'];
export type CdapProgram = components['schemas']['CdapProgram'];
export type CdapRelation = components['schemas']['CdapRelation'];
export type CdapRelations = components['schemas']['CdapRelations'];
export type CdapSummary = components['schemas']['CdapSummary'];
export type ChangedField = components['schemas']['ChangedField'];
export type ComparedProgram = components['schemas']['ComparedProgram'];
export type Connection = components['schemas']['Connection'];
export type Consumption = components['schemas']['Consumption'];
export type Content = components['schemas']['Content'];
export type DatasetDiff = components['schemas']['DatasetDiff'];
export type DerivationParts = components['schemas']['DerivationParts'];
export type Diff = components['schemas']['Diff'];
export type DistinctDerivation = components['schemas']['DistinctDerivation'];
export type Downstream = components['schemas']['Downstream'];
export type Edge = components['schemas']['Edge'];
export type EndPoint = components['schemas']['EndPoint'];
export type EndPointDetails = components['schemas']['EndPointDetails'];
export type EndPointOfContent = components['schemas']['EndPointOfContent'];
export type EndPoints = components['schemas']['EndPoints'];
export type Entry = components['schemas']['Entry'];
export type EventOfRun = components['schemas']['EventOfRun'];
export type ExpiredField = components['schemas']['ExpiredField'];
export type ExpiredProgram = components['schemas']['ExpiredProgram'];
export type Fault = components['schemas']['Fault'];
export type FieldDetails = components['schemas']['FieldDetails'];
export type FieldLineage = components['schemas']['FieldLineage'];
export type FieldTag = components['schemas']['FieldTag'];
export type FieldTagList = components['schemas']['FieldTagList'];
export type FieldWays = components['schemas']['FieldWays'];
export type FieldWithTags = components['schemas']['FieldWithTags'];
export type Fields = components['schemas']['Fields'];
export type FlowProgram = components['schemas']['FlowProgram'];
export type FlowStep = components['schemas']['FlowStep'];
export type Flows = components['schemas']['Flows'];
export type Graph = components['schemas']['Graph'];
export type History = components['schemas']['History'];
export type Impact = components['schemas']['Impact'];
export type ImpactChange = components['schemas']['ImpactChange'];
export type ImpactDerivation = components['schemas']['ImpactDerivation'];
export type ImpactedField = components['schemas']['ImpactedField'];
export type ImpactedProgram = components['schemas']['ImpactedProgram'];
export type JobReference = components['schemas']['JobReference'];
export type ListedEndPoint = components['schemas']['ListedEndPoint'];
export type ListedField = components['schemas']['ListedField'];
export type ListedRun = components['schemas']['ListedRun'];
export type NamespaceRuns = components['schemas']['NamespaceRuns'];
export type Namespaces = components['schemas']['Namespaces'];
export type Node = components['schemas']['Node'];
export type OpenLineageDataset = components['schemas']['OpenLineageDataset'];
export type OpenLineageEvent = components['schemas']['OpenLineageEvent'];
export type OpenLineageJob = components['schemas']['OpenLineageJob'];
export type OpenLineageRun = components['schemas']['OpenLineageRun'];
export type Operation = components['schemas']['Operation'];
export type Pair = components['schemas']['Pair'];
export type ParamsOf = components['schemas']['ParamsOf'];
export type Path = components['schemas']['Path'];
export type PhysicalName = components['schemas']['PhysicalName'];
export type Policies = components['schemas']['Policies'];
export type Policy = components['schemas']['Policy'];
export type PolicyField = components['schemas']['PolicyField'];
export type Program = components['schemas']['Program'];
export type ProgramDay = components['schemas']['ProgramDay'];
export type ProgramName = components['schemas']['ProgramName'];
export type Programs = components['schemas']['Programs'];
export type Provenance = components['schemas']['Provenance'];
export type Reach = components['schemas']['Reach'];
export type ReachEdge = components['schemas']['ReachEdge'];
export type ReachField = components['schemas']['ReachField'];
export type ReachNode = components['schemas']['ReachNode'];
export type ReachedField = components['schemas']['ReachedField'];
export type RecordedDataset = components['schemas']['RecordedDataset'];
export type RecordedInput = components['schemas']['RecordedInput'];
export type RecordedOperation = components['schemas']['RecordedOperation'];
export type RecordedOutput = components['schemas']['RecordedOutput'];
export type ReportWindow = components['schemas']['ReportWindow'];
export type Result = components['schemas']['Result'];
export type Results = components['schemas']['Results'];
export type RetentionReport = components['schemas']['RetentionReport'];
export type RunBucket = components['schemas']['RunBucket'];
export type RunCounts = components['schemas']['RunCounts'];
export type RunOfProgram = components['schemas']['RunOfProgram'];
export type RunTold = components['schemas']['RunTold'];
export type Runs = components['schemas']['Runs'];
export type Source = components['schemas']['Source'];
export type Step = components['schemas']['Step'];
export type Stretch = components['schemas']['Stretch'];
export type SubjectField = components['schemas']['SubjectField'];
export type Tag = components['schemas']['Tag'];
export type TagList = components['schemas']['TagList'];
export type TagNames = components['schemas']['TagNames'];
export type TaggedField = components['schemas']['TaggedField'];
export type TaggedFields = components['schemas']['TaggedFields'];
export type UnknownRelation = components['schemas']['UnknownRelation'];
export type Violation = components['schemas']['Violation'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
