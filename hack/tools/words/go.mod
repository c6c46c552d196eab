module github.com/olm-webhook-manager/olm-webhook-manager/hack/tools/words

go 1.26.3

require sigs.k8s.io/yaml v1.6.0

require go.yaml.in/yaml/v2 v2.4.2 // indirect
