#!/usr/bin/env bash
# Writes every generated file of the tree: deepcopy functions, clients, listers, informers,
# CustomResourceDefinitions and the alert rules' custom resource. Generators are pinned in
# hack/tools.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

module=$(go list -m)
operators=github.com/operator-framework/api
own_types=$module/pkg/apis/manager/v1alpha1
served_types=(
  "$own_types"
  $operators/pkg/operators/v1
  $operators/pkg/operators/v1alpha1
)
header=hack/boilerplate.go.txt

codegen() {
  local generator=$1
  shift
  go tool -modfile=hack/tools/codegen/go.mod "$generator" --go-header-file "$header" "$@"
}

deepcopy() {
  codegen deepcopy-gen --output-file zz_generated.deepcopy.go "$own_types"
}

# One clientset for this project's types and the operators.coreos.com ones, so that the
# manager holds one client and one informer factory. client-gen takes whole import paths
# when the input base is empty. There is no fake one: tests have a real API server.
client() {
  rm -rf pkg/client
  codegen client-gen --fake-clientset=false --input-base "" --input "$(join , "${served_types[@]}")" \
    --output-dir pkg/client --output-pkg "$module/pkg/client" --clientset-name clientset
  codegen lister-gen \
    --output-dir pkg/client/listers --output-pkg "$module/pkg/client/listers" "${served_types[@]}"
  codegen informer-gen --single-directory \
    --output-dir pkg/client/informers --output-pkg "$module/pkg/client/informers" \
    --versioned-clientset-package "$module/pkg/client/clientset" \
    --listers-package "$module/pkg/client/listers" "${served_types[@]}"
}

own_crd() {
  rm -f manifests/crds/olm-webhook-manager.io_*.yaml
  go tool -modfile=hack/tools/crd/go.mod controller-gen crd \
    paths=./pkg/apis/manager/v1alpha1 output:crd:dir=manifests/crds
}

# The kinds that the manager reads besides its own. They are the operator API's files as
# they are; a cluster that runs OLM has them already.
operators_crds() {
  local from
  from=$(go list -m -f '{{.Dir}}' $operators)/crds
  rm -f manifests/crds/olm/operators.coreos.com_*.yaml
  for kind in clusterserviceversions operatorgroups operatorconditions subscriptions; do
    install -m 644 "$from/operators.coreos.com_$kind.yaml" manifests/crds/olm/
  done
}

# The alert rules in the form that the Prometheus Operator reads.
prometheus_rule() {
  {
    printf '%s\n' '# Made of alerts.yaml by make generate.' 'apiVersion: monitoring.coreos.com/v1' \
      'kind: PrometheusRule' 'metadata:' '  name: olm-webhook-manager' 'spec:'
    sed '/^# /d; s/^/  /' manifests/monitoring/alerts.yaml
  } >manifests/monitoring/prometheusrule.yaml
}

join() {
  local IFS=$1
  shift
  echo "$*"
}

deepcopy
client
own_crd
operators_crds
prometheus_rule
