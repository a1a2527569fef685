{{- define "fll.name" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "fll.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "fll.labels" -}}
{{ include "fll.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "fll.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{- define "fll.secret" -}}
{{- default (include "fll.name" .) .Values.secretName -}}
{{- end -}}

{{- define "fll.claim" -}}
{{- default (include "fll.name" .) .Values.store.sqlite.existingClaim -}}
{{- end -}}

{{- define "fll.store" -}}
{{- if eq .Values.store.kind "hbase" -}}
hbase://{{ join "," .Values.store.hbase.gateways }}/{{ .Values.store.hbase.table }}
{{- else -}}
sqlite:////data/field_level_lineage.db
{{- end -}}
{{- end -}}

{{- /* What the schema of the values cannot state. A server with such values would not start, or lose data. */ -}}
{{- define "fll.check" -}}
{{- if and (eq .Values.store.kind "sqlite") (gt (int .Values.replicas) 1) -}}
{{- fail "store.kind=sqlite needs replicas=1: a file has one server; use store.kind=hbase for more" -}}
{{- end -}}
{{- if and (eq .Values.store.kind "hbase") (not .Values.store.hbase.gateways) -}}
{{- fail "store.kind=hbase needs store.hbase.gateways, such as gateway-0.gateway:9090" -}}
{{- end -}}
{{- if and (eq .Values.auth.mode "none") (not .Values.auth.allowUnauthenticated) -}}
{{- fail "auth.mode=none needs auth.allowUnauthenticated=true: anyone who reaches the Service may read and write" -}}
{{- end -}}
{{- if and (contains "jwt" .Values.auth.mode) (not (and .Values.auth.jwt.issuer .Values.auth.jwt.audience)) -}}
{{- fail "auth.mode with jwt needs auth.jwt.issuer and auth.jwt.audience" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.hosts) -}}
{{- fail "ingress.enabled needs a name in hosts" -}}
{{- end -}}
{{- end -}}
