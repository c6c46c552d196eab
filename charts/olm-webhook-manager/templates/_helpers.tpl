{{/*
The label that all objects and pods of the manager have. Other managers and commands find the
Deployment by it.
*/}}
{{- define "olm-webhook-manager.label" -}}
app.kubernetes.io/name: olm-webhook-manager
{{- end }}

{{/*
The ServiceAccount to which bindings grant permissions.
*/}}
{{- define "olm-webhook-manager.subjects" -}}
subjects:
- kind: ServiceAccount
  name: olm-webhook-manager
  namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{/*
The image, by digest or by tag.
*/}}
{{- define "olm-webhook-manager.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The arguments of the manager, one flag for each value that differs from the default of the flag.
*/}}
{{- define "olm-webhook-manager.args" -}}
- run
{{- with .Values.namespaces }}
- --namespaces={{ join "," . }}
{{- end }}
{{- if or .Values.liftRoles .Values.withOLM }}
- --lift-roles
{{- end }}
{{- if .Values.withOLM }}
- --with-olm
{{- end }}
{{- if not (has .Values.logLevel (list nil "info")) }}
- --log-level={{ .Values.logLevel }}
{{- end }}
{{- if not (has .Values.logFormat (list nil "text")) }}
- --log-format={{ .Values.logFormat }}
{{- end }}
{{- if .Values.monitoring.tlsSecretName }}
- --metrics-tls-cert-file=/etc/metrics-tls/tls.crt
- --metrics-tls-private-key-file=/etc/metrics-tls/tls.key
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}
